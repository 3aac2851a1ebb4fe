"""Volumes are resampled twice, once for an affine and once for an elastic transform (TorchIO-project/torchio#1052)."""

import numpy
import torch
from common import FIX, done, over
from scipy.ndimage import gaussian_filter, map_coordinates
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

GRID = numpy.stack(numpy.meshgrid(*[numpy.arange(24.0)] * 3, indexing="ij"))


def affine_of(draw):
    matrix = numpy.eye(3) + draw.normal(0, 0.05, (3, 3))
    return numpy.einsum("ij,jxyz->ixyz", matrix, GRID - 12) + 12 - GRID


def elastic_of(draw):
    return numpy.stack([gaussian_filter(draw.normal(0, 20, (24, 24, 24)), 4, mode="nearest", truncate=1.5) for _ in range(3)])


def resample(volume, displacement, order):
    return map_coordinates(volume, GRID + displacement, order=order, mode="nearest")


class Brains(Dataset):
    def __init__(self):
        self.volumes = numpy.random.default_rng(0).random((8, 24, 24, 24), numpy.float32)
        self.draw = numpy.random.default_rng(1)

    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        volume = self.volumes[i % 8]
        if FIX:
            volume = resample(volume, affine_of(self.draw) + elastic_of(self.draw), 1)
        else:
            volume = resample(resample(volume, affine_of(self.draw), 3), elastic_of(self.draw), 3)
        return torch.from_numpy(volume)


def main():
    gpu = Device()
    loader = DataLoader(Brains(), batch_size=2, shuffle=True, num_workers=1, pin_memory=True)
    samples = 0
    for batch in loader:
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.02, "step")
        samples += len(batch)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
