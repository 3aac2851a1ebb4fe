"""Point clouds of rooms, told apart by convolutions on points; each part of a step is timed."""

# https://github.com/HuguesTHOMAS/KPConv-PyTorch/issues/22
# Cause: torch.cuda.synchronize() in each step, which is there for the measured times only.
# Fix: leave it out; the reporter found it 25 % slower with it.
# Line: 70 and 76, synchronize in train.

import time

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

LAYERS = 5


class Rooms(Dataset):
    """Spheres of points with neighbours, pools and upsamples at each layer."""

    def __len__(self):
        return 1000

    def __getitem__(self, i):
        points, inputs = 6000, []
        for _ in range(LAYERS):
            inputs += [torch.zeros(points, 3), *(torch.zeros(n, 20, dtype=torch.int32) for n in (points, points // 4))]
            points //= 4
        return inputs


class Batch:
    def __init__(self, inputs):
        self.inputs = inputs

    def to(self, gpu):
        for tensor in self.inputs:
            gpu.copy(tensor.nbytes, pinned=True, non_blocking=True)
        return self


class Net:
    """The kernel points' weights are prepared on the host, and launched block by block."""

    def __init__(self, gpu):
        self.gpu, self.kernels = gpu, [torch.rand(15, 3) for _ in range(4 * LAYERS)]

    def forward(self, batch):
        for number, kernel in enumerate(self.kernels):
            shifted = kernel[:, None] - kernel[None]
            weights = (1 - shifted.pow(2).sum(-1).sqrt()).clamp_min(0)
            torch.linalg.svd(weights)
            self.gpu.launch(0.0006, f"kpconv {number}")

    def backward(self):
        for number, kernel in enumerate(self.kernels):
            torch.linalg.svd((kernel[:, None] - kernel[None]).pow(2).sum(-1))
            self.gpu.launch(0.0011, f"backward {number}")


def train(gpu, loader):
    net, samples, step, mean_dt = Net(gpu), 0, 0, numpy.zeros(2)
    while not over():
        for inputs in loader:
            t = [time.time()]
            net.forward(Batch(inputs).to(gpu))
            gpu.launch(0.001, "loss")
            if not FIX:
                gpu.synchronize()
            t.append(time.time())
            net.backward()
            gpu.launch(0.002, "clip, sgd")
            step, samples = step + 1, samples + 1
            if not FIX:
                gpu.synchronize()
            t.append(time.time())
            mean_dt = 0.9 * mean_dt + 0.1 * numpy.diff(t)
            if step % 40 == 0:
                forward, backward = 1e3 * mean_dt
                print(f"step {step}: loss {gpu.item():.3f}, {forward:.1f} ms and {backward:.1f} ms", flush=True)
            if over():
                break
    return samples


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    loader = DataLoader(Rooms(), None, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    done(gpu, train(gpu, loader))


if __name__ == "__main__":
    main()
