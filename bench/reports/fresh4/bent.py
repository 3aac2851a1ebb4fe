"""A curve of far too many points is made for each picture (Kaiseem/SLAug#2)."""

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

TIMES = 1000 if FIX else 100_000


def bernstein_poly(i, n, t):
    return numpy.array([1, 3, 3, 1])[i] * (t ** (n - i)) * (1 - t) ** i


def bezier_curve(points):
    t = numpy.linspace(0.0, 1.0, TIMES)
    polynomials = numpy.array([bernstein_poly(i, 3, t) for i in range(4)])
    return numpy.dot(points[:, 0], polynomials), numpy.dot(points[:, 1], polynomials)


class LocationScaleAugmentation:
    def non_linear_transformation(self, image):
        points = numpy.sort(numpy.random.rand(4, 2), axis=0)
        xvals, yvals = bezier_curve(points)
        return numpy.interp(image, numpy.sort(xvals), numpy.sort(yvals))


class Slices(Dataset):
    def __init__(self):
        self.images = numpy.random.default_rng(0).random((200, 64, 64), dtype=numpy.float32)
        self.augment = LocationScaleAugmentation()

    def __len__(self):
        return 8000

    def __getitem__(self, i):
        image = self.augment.non_linear_transformation(self.images[i % 200])
        return torch.from_numpy(image.astype(numpy.float32))


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    model = torch.nn.Linear(64, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(Slices(), batch_size=16, shuffle=True, num_workers=1, pin_memory=True)
    while not over():
        for step, x in enumerate(loader):
            gpu.copy(x.nbytes, pinned=True, non_blocking=True)
            loss = model(x[:, 0]).square().mean()
            gpu.launch(0.008, "forward")
            optimizer.zero_grad()
            loss.backward()
            gpu.launch(0.016, "backward, step")
            optimizer.step()
            samples += len(x)
            if step % 50 == 0:
                gpu.item()
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
