"""Each gradient is checked for NaN in each step, one read for each (HyperGAN/HyperGAN#355)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __len__(self):
        return 3200

    def __getitem__(self, i):
        return torch.full((16,), 0.01 * (i % 9))


class ReferenceTrainer:
    def __init__(self, gpu):
        self.gpu, self.model = gpu, nn.Sequential(*(nn.Linear(16, 16) for _ in range(40)))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-4)

    def on_device(self, flag):
        """A flag that was computed on the device, and is read."""
        self.gpu.launch(0.00002, "isfinite, all")
        self.gpu.item()
        return bool(flag)

    def check_gradients(self):
        if FIX:
            flags = torch.stack([torch.isfinite(p.grad).all() for p in self.model.parameters()])
            return self.on_device(flags.all())
        for p in self.model.parameters():
            if not self.on_device(torch.isfinite(p.grad).all()):
                raise FloatingPointError("a gradient is not finite")
        return True

    def update(self, x):
        self.gpu.copy(x.nbytes)
        self.gpu.launch(0.002, "forward")
        loss = self.model(x).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.gpu.launch(0.004, "backward")
        self.check_gradients()
        self.optimizer.step()
        self.gpu.launch(0.001, "adam")


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    trainer = ReferenceTrainer(gpu)
    loader = DataLoader(Pictures(), batch_size=32, shuffle=True, num_workers=1, persistent_workers=True)
    while not over():
        for x in loader:
            trainer.update(x)
            samples += len(x)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
