"""Small networks of an ensemble are trained one after the other in each step (pytorch/functorch#782)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch import nn


class Ensemble:
    def __init__(self, gpu, size):
        self.gpu, self.size = gpu, 1 if FIX else size
        self.members = [nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1)) for _ in range(self.size)]
        self.optimizers = [torch.optim.Adam(m.parameters(), lr=1e-3) for m in self.members]

    def train_member(self, n, x, y):
        for _ in range(20):
            self.gpu.launch(0.00001 if not FIX else 0.00003, "gemm")
        loss = (self.members[n](x) - y).square().mean()
        self.optimizers[n].zero_grad()
        loss.backward()
        self.optimizers[n].step()

    def train(self, x, y):
        for n in range(self.size):
            self.train_member(n, x, y)


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    ensemble, x, y = Ensemble(gpu, 16), torch.rand(5000, 8), torch.rand(5000, 1)
    while not over():
        chosen = torch.randint(len(x), (64,))
        ensemble.train(x[chosen], y[chosen])
        samples += 64
        step += 1
        if step % 50 == 0:
            gpu.item()
    done(gpu, samples)


if __name__ == "__main__":
    main()
