"""Tumours are segmented in volumes; patches are changed at random on the CPU while the network trains on those before."""

# https://github.com/MIC-DKFZ/batchgeneratorsv2/pull/15
# Cause: none: augmentation on the GPU was so far not found useful, the GPU is better used for the training itself; "when the
#        server is lightly loaded, CPU augmentation is equivalent or faster".
# Fix: nothing to change (--fix augments on the device, which gains nothing).
# Line: none.

import numpy
import scipy.ndimage
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

PATCH, BATCH = (24, 40, 40), 2


def transform(image, labels, draw):
    """Brightness, contrast, noise, blur, and mirrors."""
    image = image * draw.uniform(0.75, 1.25) + draw.normal(0, 0.1, image.shape).astype(numpy.float32)
    if draw.random() < 0.5:
        image = scipy.ndimage.gaussian_filter(image, draw.uniform(0.5, 1.0))
    image = numpy.clip((image - image.mean()) * draw.uniform(0.75, 1.25) + image.mean(), image.min(), image.max())
    axes = tuple(axis for axis in range(3) if draw.random() < 0.5)
    return numpy.flip(image, axes), numpy.flip(labels, axes)


class Patches(Dataset):
    def __init__(self, count=4000):
        noise = numpy.random.default_rng(0).normal(size=(48, 80, 80))
        self.volume = scipy.ndimage.gaussian_filter(noise, 2).astype(numpy.float32) * 10
        self.labels, self.count = (self.volume > 0.5).astype(numpy.uint8), count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        draw = numpy.random.default_rng(i)
        corner = [int(draw.integers(0, whole - part)) for whole, part in zip(self.volume.shape, PATCH, strict=True)]
        crop = tuple(slice(c, c + p) for c, p in zip(corner, PATCH, strict=True))
        image, labels = self.volume[crop], self.labels[crop]
        if not FIX:
            image, labels = transform(image, labels, draw)
        return torch.from_numpy(image.astype(numpy.float32)), torch.from_numpy(labels.copy())


class Network:
    def __init__(self, gpu):
        self.gpu = gpu

    def train_step(self, images, labels):
        self.gpu.copy(images.nbytes + labels.nbytes, pinned=True, non_blocking=True)
        if FIX:
            self.gpu.launch(0.004, "augmentation")
        for stage in range(6):
            self.gpu.launch(0.0123, f"stage {stage}")
        self.gpu.launch(0.124, "dice, cross entropy, backward, sgd")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=20 << 30), 0, 0
    network = Network(gpu)
    loader = DataLoader(Patches(), BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for images, labels in loader:
            network.train_step(images, labels)
            step, samples = step + 1, samples + len(images)
            if step % 10 == 0:
                print(f"iteration {step}: train_loss {gpu.item():.4f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
