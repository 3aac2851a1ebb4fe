"""Cells are segmented in slices that a random grid deforms, in the loader's workers, while the network trains."""

# https://github.com/gvtulder/elasticdeform/issues/6
# Cause: none: "I often saturate the GPU for the network training and can do the deformation on the CPU (in parallel) while the
#        network is training"; on the device it would slow things down.
# Fix: nothing to change (--fix has two workers, which gains nothing).
# Line: none.

import numpy
import scipy.ndimage
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

SIDE, BATCH, POINTS = 96, 4, 3


def deform_random_grid(arrays, sigma, order):
    """Moves a coarse grid at random, and all pixels with it; labels get the nearest one."""
    grid = numpy.random.normal(0, sigma, (2, POINTS, POINTS))
    moved = scipy.ndimage.zoom(grid, (1, SIDE / POINTS, SIDE / POINTS), order=1)
    where = numpy.mgrid[:SIDE, :SIDE] + moved
    return [scipy.ndimage.map_coordinates(array, where, order=o, mode="mirror") for array, o in zip(arrays, order, strict=True)]


class Slices(Dataset):
    def __init__(self, count=4000):
        draw = numpy.random.default_rng(0)
        smooth = scipy.ndimage.gaussian_filter(draw.normal(size=(24, SIDE, SIDE)), (0, 5, 5))
        self.images, self.labels = smooth.astype(numpy.float32), (smooth > 0).astype(numpy.uint8)
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        image, label = deform_random_grid([self.images[i % 24], self.labels[i % 24]], sigma=5, order=(1, 0))
        return torch.from_numpy(image[None]), torch.from_numpy(label)


class UNet:
    def __init__(self, gpu):
        self.gpu = gpu

    def train_batch(self, images, labels):
        self.gpu.copy(images.nbytes + labels.nbytes, pinned=True, non_blocking=True)
        for level in range(4):
            self.gpu.launch(0.018, f"down, level {level}")
        for level in range(4):
            self.gpu.launch(0.021, f"up, level {level}")
        self.gpu.launch(0.215, "dice, backward, adam")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=40 << 30), 0, 0
    net = UNet(gpu)
    workers = 2 if FIX else 1
    loader = DataLoader(Slices(), BATCH, shuffle=True, num_workers=workers, pin_memory=True, persistent_workers=True)
    while not over():
        for images, labels in loader:
            net.train_batch(images, labels)
            step, samples = step + 1, samples + len(images)
            if step % 10 == 0:
                print(f"iteration {step}: loss {gpu.item():.4f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
