"""Neural scene flow fields, fitted to the frames of one video."""

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch import nn


class NeRF(nn.Module):
    """A field of colour and density; its arithmetic is the device's, a few numbers stay here."""

    def __init__(self, gpu, depth=8, outputs=4):
        super().__init__()
        self.gpu = gpu
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(depth))
        self.head = nn.Linear(16, outputs)

    def forward(self, x):
        h = x
        for layer in self.layers:
            self.gpu.launch(0.00006, "linear, relu")
            h = torch.relu(layer(h))
        self.gpu.launch(0.00002, "head")
        return self.head(h)


def embed(x, frequencies=4):
    parts = []
    for n in range(frequencies):
        parts += [torch.sin(2**n * x), torch.cos(2**n * x)]
    return torch.cat(parts, -1)


def composite(raw):
    alpha = 1 - torch.exp(-torch.relu(raw[..., 3]))
    weights = alpha * torch.cumprod(torch.cat([torch.ones_like(alpha[:1]), 1 - alpha + 1e-10])[:-1], 0)
    return (weights[..., None] * torch.sigmoid(raw[..., :3])).sum(0), weights


def photometric(rgb, target, occlusion):
    return ((rgb - target) ** 2 * occlusion).mean()


class Trainer:
    def __init__(self, gpu, rays=1024):
        self.gpu, self.rays = gpu, rays
        self.static, self.dynamic = NeRF(gpu), NeRF(gpu, outputs=12)
        self.optimizer = torch.optim.Adam([*self.static.parameters(), *self.dynamic.parameters()], lr=5e-4, foreach=True)
        self.draw = numpy.random.default_rng(0)
        self.frames = self.draw.random((24, 72, 128, 3), dtype=numpy.float32)

    def batch(self):
        frame = self.draw.integers(1, 23)
        rows, columns = self.draw.integers(0, 72, self.rays), self.draw.integers(0, 128, self.rays)
        return torch.from_numpy(self.frames[frame, rows, columns])

    def render(self, points):
        x = embed(points)
        raw, moving = self.static(x), self.dynamic(x)
        self.gpu.launch(0.0002, "composite")
        static, _ = composite(raw)
        dynamic, weights = composite(moving[..., :4])
        return static, dynamic, moving[..., 4:10], weights

    def step(self):
        target = self.batch()
        self.gpu.copy(target.nbytes)
        points, goal = torch.rand(8, 2), target[:1].mean(0)
        static, dynamic, flow, weights = self.render(points)
        loss = photometric(dynamic, goal, 1.0) + photometric(static, goal, 1.0)
        for shift in (flow[..., 0:2], flow[..., 2:4]):
            _, warped, back, _ = self.render(points + shift)
            loss = loss + photometric(warped, goal, weights.sum().detach()) + 0.1 * (back[..., 2:4] + shift).abs().mean()
        loss = loss + 0.01 * flow.abs().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.gpu.launch(0.006, "backward")
        self.optimizer.step()
        self.gpu.launch(0.0004, "adam")


def train():
    gpu = Device(spin=False)
    trainer, step, samples = Trainer(gpu), 0, 0
    torch.autograd.set_detect_anomaly(not FIX)
    while not over():
        trainer.step()
        step, samples = step + 1, samples + trainer.rays
        if step % 50 == 0:
            print(f"step {step}: loss {gpu.item():.4f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    torch.set_num_threads(1)
    train()
