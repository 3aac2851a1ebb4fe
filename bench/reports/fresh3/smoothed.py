"""The moving average is updated tensor by tensor, two small kernels each, in each step (ultralytics/ultralytics#25315)."""

import copy
import math

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class YOLODataset(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        return torch.zeros(3, 64, 64)


class Conv(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn = torch.nn.Conv2d(4, 4, 1, bias=False), torch.nn.BatchNorm2d(4)

    def forward(self, x):
        return self.bn(self.conv(x))


class ModelEMA:
    def __init__(self, gpu, model, decay=0.9999, tau=2000):
        self.gpu, self.ema, self.updates = gpu, copy.deepcopy(model).eval(), 0
        self.decay = lambda x: decay * (1 - math.exp(-x / tau))
        for parameter in self.ema.parameters():
            parameter.requires_grad_(False)
        self.pairs = None

    def update(self, model):
        self.updates += 1
        d = self.decay(self.updates)
        if FIX:
            if self.pairs is None:
                msd = model.state_dict()
                kept = [(v, msd[k]) for k, v in self.ema.state_dict().items() if v.dtype.is_floating_point]
                self.pairs = [v for v, _ in kept], [v for _, v in kept]
            torch._foreach_lerp_(self.pairs[0], self.pairs[1], 1 - d)
            for _ in range(4):
                self.gpu.launch(0.00004, "multi_tensor_apply")
            return
        msd = model.state_dict()
        for k, v in self.ema.state_dict().items():
            if v.dtype.is_floating_point:
                v *= d
                self.gpu.launch(0.000002, "mul")
                v += (1 - d) * msd[k].detach()
                self.gpu.launch(0.000002, "mul")
                self.gpu.launch(0.000002, "add")


class DetectionTrainer:
    def __init__(self):
        self.gpu = Device()
        self.model = torch.nn.Sequential(*[Conv() for _ in range(118)])  # as yolo26n: 594 tensors
        self.ema = ModelEMA(self.gpu, self.model)
        self.loader = DataLoader(YOLODataset(), batch_size=16, shuffle=True, num_workers=1, pin_memory=True)

    def preprocess_batch(self, batch):
        self.gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        return batch[:1, :1, :2, :2].expand(1, 4, 2, 2)

    def do_train(self):
        samples, optimizer = 0, torch.optim.SGD(self.model.parameters(), lr=0.0001, momentum=0.9)
        for batch in self.loader:
            x = self.preprocess_batch(batch)
            with torch.no_grad():
                for layer in self.model:
                    x = layer(x)
                    self.gpu.launch(0.00003, "conv, bn")
            self.gpu.launch(0.012, "backward")
            self.gpu.launch(0.0002, "fused step")
            optimizer.zero_grad()
            self.ema.update(self.model)
            samples += len(batch)
            if over():
                break
        return samples


def main():
    torch.set_num_threads(1)
    trainer = DetectionTrainer()
    done(trainer.gpu, trainer.do_train())


if __name__ == "__main__":
    main()
