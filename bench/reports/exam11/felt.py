"""A text classifier of 32 emotions weighs those that are easily confused more."""

# https://github.com/varsha33/LCL_loss/issues/2

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

CLASSES, BATCH = 32, 40


class EmpatheticDialogues(Dataset):
    def __init__(self, count=12_000):
        draw = numpy.random.default_rng(0)
        self.ids = torch.from_numpy(draw.integers(0, 30000, (500, 64)))
        self.labels, self.count = draw.integers(0, CLASSES, 500), count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.ids[i % 500], int(self.labels[i % 500])


class LCL:
    """Features of the device; values are real and small, how long kernels run is emulated."""

    def __init__(self, gpu, temperature=0.3):
        self.gpu, self.temperature = gpu, temperature

    def kernel(self, value, name, seconds=0.000003):
        self.gpu.launch(seconds, name)
        return value

    def weights(self, labels, confusion):
        count = len(labels)
        if FIX:
            return self.kernel(confusion[labels[:, None], labels[None, :]], "index", 0.00002)
        weighted_mask = self.kernel(torch.zeros(count, count), "zeros")
        for i, label in enumerate(labels):
            for j, other in enumerate(labels):
                weighted_mask[i, j] = self.kernel(confusion[label, other], "index")
                self.kernel(None, "copy")
        return weighted_mask

    def forward(self, features, labels, confusion):
        similarity = self.kernel(features @ features.T / self.temperature, "matmul", 0.00003)
        same = labels[:, None] == labels[None, :]
        weighted = self.weights(labels, confusion) * similarity.exp()
        self.kernel(None, "exp, mul, log, mean", 0.0001)
        return -(torch.log(weighted.sum(1) + 1e-6) * same.sum(1)).mean()


class Electra:
    def __init__(self, gpu):
        self.gpu = gpu

    def forward(self, ids):
        self.gpu.copy(ids.nbytes, pinned=True, non_blocking=True)
        for layer in range(12):
            self.gpu.launch(0.00031, f"layer {layer}")
        self.gpu.launch(0.0004, "weighting network")
        return torch.nn.functional.normalize(ids[:, :16].float(), dim=1), torch.rand(CLASSES, CLASSES)


def train_epoch(loader, model, loss_fn, step, samples):
    for ids, labels in loader:
        features, confusion = model.forward(ids)
        loss_fn.forward(features, labels, confusion)
        model.gpu.launch(0.0078, "backward, adamw")
        step, samples = step + 1, samples + len(ids)
        if step % 50 == 0:
            print(f"Epoch: 1, Idx: {step}, Training Loss: {model.gpu.item():.4f}", flush=True)
        if over():
            break
    return step, samples


def main():
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    gpu, samples, step = Device(spin=False), 0, 0
    model, loss_fn = Electra(gpu), LCL(gpu)
    loader = DataLoader(EmpatheticDialogues(), BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        step, samples = train_epoch(loader, model, loss_fn, step, samples)
    done(gpu, samples)


if __name__ == "__main__":
    main()
