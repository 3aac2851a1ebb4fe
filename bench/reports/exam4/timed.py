"""The trainer synchronizes after each step, to print how long parts took (HuguesTHOMAS/KPConv-PyTorch#22)."""

import time

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch import nn
from torch.utils.data import DataLoader, Dataset

LAYERS, POINTS = 5, 9000


class Spheres(Dataset):
    """Spheres of points in a room, with the neighbours of each layer already found."""

    def __init__(self):
        draw = numpy.random.default_rng(0)
        self.points = [draw.random((POINTS >> (2 * layer), 3), numpy.float32) for layer in range(LAYERS)]
        self.neighbors = [draw.integers(0, len(p), (len(p), 16)) for p in self.points]

    def __len__(self):
        return 400

    def __getitem__(self, i):
        return [torch.from_numpy(p) for p in self.points], [torch.from_numpy(n) for n in self.neighbors]


class KPConv(nn.Module):
    """A convolution over kernel points: the device does the work in a few kernels."""

    def __init__(self, gpu, seconds):
        super().__init__()
        self.gpu, self.seconds = gpu, seconds
        self.register_buffer("kernel_points", torch.rand(15, 3))
        self.weights = nn.Parameter(torch.rand(15, 4, 4))

    def forward(self, x):
        for name in ("gather", "distances", "influences", "weighted", "kernel outputs"):
            self.gpu.launch(self.seconds / 5, name)
        sq = (self.kernel_points.unsqueeze(0) ** 2).sum(-1)
        return x + torch.clamp(1 - sq.sqrt(), min=0).sum() * self.weights[0].mean()


class Block(nn.Module):
    def __init__(self, gpu, seconds):
        super().__init__()
        self.unary1, self.unary2 = nn.Linear(4, 4), nn.Linear(4, 4)
        self.norm1, self.norm2 = nn.BatchNorm1d(4), nn.BatchNorm1d(4)
        self.conv, self.leaky, self.gpu = KPConv(gpu, seconds), nn.LeakyReLU(0.1), gpu

    def forward(self, x):
        for _ in range(6):
            self.gpu.launch(0.00001, "linear, norm, relu")
        y = self.leaky(self.norm1(self.unary1(x)))
        return x + self.norm2(self.unary2(self.conv(y)))


class KPFCNN(nn.Module):
    def __init__(self, gpu):
        super().__init__()
        self.encoder = nn.ModuleList(Block(gpu, 0.0003 * (1 + n % 3)) for n in range(15))
        self.head = nn.Linear(4, 13)

    def forward(self, x):
        for block in self.encoder:
            x = block(x)
        return self.head(x)


class ModelTrainer:
    def __init__(self, gpu, net):
        self.gpu, self.net = gpu, net
        self.optimizer = torch.optim.SGD(net.parameters(), lr=1e-2, momentum=0.98)
        self.step, self.samples, self.last_display = 0, 0, time.time()

    def train(self, loader):
        mean_dt, t = numpy.zeros(3), [time.time()]
        for points, neighbors in loader:
            t = [t[-1], time.time()]
            self.gpu.copy(sum(p.nbytes for p in points + neighbors), pinned=True, non_blocking=True)
            self.optimizer.zero_grad()
            loss = self.net(torch.ones(8, 4)).square().mean()
            t += [time.time()]
            loss.backward()
            self.gpu.launch(0.011, "backward")
            nn.utils.clip_grad_value_(self.net.parameters(), 100.0)
            self.optimizer.step()
            self.gpu.launch(0.0005, "optimizer")
            if not FIX:
                self.gpu.synchronize()
            t += [time.time()]
            mean_dt = 0.9 * mean_dt + 0.1 * (numpy.array(t[1:]) - numpy.array(t[:-1]))
            if t[-1] - self.last_display > 1.0:
                self.last_display = t[-1]
                parts = " ".join(f"{1000 * part:.1f}" for part in mean_dt)
                print(f"i{self.step:06d} => L={self.gpu.item():.3f} t(ms): {parts}", flush=True)
            self.step += 1
            self.samples += len(points[0])
            if over():
                return


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    trainer = ModelTrainer(gpu, KPFCNN(gpu))
    loader = DataLoader(Spheres(), 1, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        trainer.train(loader)
    done(gpu, trainer.samples)


if __name__ == "__main__":
    main()
