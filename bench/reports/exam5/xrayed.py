"""Findings in chest X-rays: a DenseNet on pictures of 224 x 224."""

import os
import tempfile

import cv2
import numpy
import torch
from common import FIX, done, over
from scipy import ndimage
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


def resize(image, shape):
    """As an image library does it: smooth, then interpolate."""
    factors = numpy.divide(image.shape, shape)
    smooth = ndimage.gaussian_filter(image, numpy.maximum(0, (factors - 1) / 2), mode="mirror")
    return ndimage.zoom(smooth, 1 / factors, order=1, mode="mirror", grid_mode=False)


class XRayCenterCrop:
    def __call__(self, image):
        height, width = image.shape[1:]
        side = min(height, width)
        top, left = (height - side) // 2, (width - side) // 2
        return image[:, top : top + side, left : left + side]


class XRayResizer:
    def __init__(self, size):
        self.size = size

    def __call__(self, image):
        if FIX:
            return cv2.resize(image[0], (self.size, self.size), interpolation=cv2.INTER_AREA)[None].astype(numpy.float32)
        return resize(image[0].astype(float), (self.size, self.size))[None].astype(numpy.float32)


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, image):
        for transform in self.transforms:
            image = transform(image)
        return image


class KaggleDataset(Dataset):
    def __init__(self, folder, count, transform):
        self.folder, self.count, self.transform = folder, count, transform
        self.labels = torch.zeros(count, 18)

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        image = cv2.imread(os.path.join(self.folder, f"{i % 24:05d}.png"), cv2.IMREAD_GRAYSCALE)
        image = (2 * (image.astype(numpy.float32) / 255) - 1.0) * 1024
        return torch.from_numpy(self.transform(image[None])), self.labels[i]


class DenseNet:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, images, labels):
        self.gpu.copy(images.nbytes + labels.nbytes, pinned=True, non_blocking=True)
        for block in range(4):
            self.gpu.launch(0.008, f"block {block}")
        self.gpu.launch(0.055, "loss, backward, adam")


def take_pictures(folder):
    draw = numpy.random.default_rng(0)
    for n in range(24):
        picture = cv2.resize(draw.integers(0, 255, (64, 64), dtype=numpy.uint8), (640, 768), interpolation=cv2.INTER_CUBIC)
        cv2.imwrite(os.path.join(folder, f"{n:05d}.png"), picture)


def train(gpu, loader):
    model, samples, epoch = DenseNet(gpu), 0, 0
    while not over():
        for step, (images, labels) in enumerate(loader):
            model.step(images, labels)
            samples += len(images)
            if step % 10 == 0:
                print(f"epoch {epoch}, step {step}: loss {gpu.item():.3f}", flush=True)
            if over():
                break
        epoch += 1
    return samples


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    gpu = Device(spin=False)
    with tempfile.TemporaryDirectory() as folder:
        take_pictures(folder)
        data = KaggleDataset(folder, 1600, Compose([XRayCenterCrop(), XRayResizer(224)]))
        samples = train(gpu, DataLoader(data, 32, shuffle=True, num_workers=2, pin_memory=True, persistent_workers=True))
        done(gpu, samples)


if __name__ == "__main__":
    main()
