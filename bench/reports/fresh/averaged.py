"""The moving average of the weights is kept on the CPU and updated in each step (lucidrains/ema-pytorch#5)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        return torch.zeros(3, 32, 32)


class Average:
    def __init__(self, model, gpu, beta=0.995):
        self.gpu, self.beta = gpu, beta
        self.shadow = {name: p.detach().clone() for name, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, model):
        for name, parameter in model.named_parameters():
            here = parameter.detach().clone()  # .cpu()
            self.gpu.item()
            self.shadow[name] = self.shadow[name] * self.beta + here * (1 - self.beta)

    def update_on_device(self):
        self.gpu.launch(0.0005, "lerp")


def main():
    torch.set_num_threads(1)
    gpu = Device()
    model = torch.nn.Sequential(*[torch.nn.Linear(700, 700) for _ in range(24)])
    average = Average(model, gpu)
    loader = DataLoader(Images(), batch_size=16, shuffle=True, num_workers=1, pin_memory=True)
    samples = 0
    for batch in loader:
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.012, "step")
        if FIX:
            average.update_on_device()
        else:
            average.update(model)
        samples += len(batch)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
