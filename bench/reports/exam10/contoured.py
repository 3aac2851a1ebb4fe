"""Organs are segmented in volumes of CT; patches are turned, scaled, blurred and brightened before the network sees them."""

# https://github.com/MIC-DKFZ/nnUNet/issues/3063
# Cause: all transforms run on the CPU in the background worker, sample by sample, about a second each; the GPU starves.
# Fix: workers only crop and stack; the whole batch is transformed on the GPU (13.5 ms): half the time of an iteration.
# Line: 22 to 28, 33, 38, 43 to 44, 49 to 50, 73 to 74: the transforms in nnUNetDataset.__getitem__.

import numpy
import scipy.ndimage
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

PATCH, BATCH = (24, 48, 48), 2


class SpatialTransform:
    """Turns about the axis of the body and scales, by splines for the picture and the nearest for the labels."""

    def __call__(self, image, segmentation, draw):
        angle, scale = draw.uniform(-0.5, 0.5), draw.uniform(0.8, 1.25)
        cosine, sine = numpy.cos(angle) * scale, numpy.sin(angle) * scale
        matrix = numpy.array([[scale, 0, 0], [0, cosine, -sine], [0, sine, cosine]])
        centre = (numpy.array(PATCH) - 1) / 2
        offset = centre - matrix @ centre
        image = scipy.ndimage.affine_transform(image, matrix, offset, order=3, mode="constant")
        return image, scipy.ndimage.affine_transform(segmentation, matrix, offset, order=0)


class GaussianBlurTransform:
    def __call__(self, image, segmentation, draw):
        return scipy.ndimage.gaussian_filter(image, draw.uniform(0.5, 1.0)), segmentation


class GaussianNoiseTransform:
    def __call__(self, image, segmentation, draw):
        return image + draw.normal(0, 0.05, image.shape).astype(numpy.float32), segmentation


class SimulateLowResolutionTransform:
    def __call__(self, image, segmentation, draw):
        small = scipy.ndimage.zoom(image, 0.5, order=0)
        return scipy.ndimage.zoom(small, 2, order=3), segmentation


class GammaTransform:
    def __call__(self, image, segmentation, draw):
        low, high = image.min(), image.max()
        return ((image - low) / (high - low + 1e-7)) ** draw.uniform(0.7, 1.5) * (high - low) + low, segmentation


TRANSFORMS = [
    SpatialTransform(), GaussianNoiseTransform(), GaussianBlurTransform(), SimulateLowResolutionTransform(), GammaTransform(),
]  # fmt: skip


class nnUNetDataset(Dataset):  # noqa: N801
    def __init__(self, transforms, count=4000):
        self.transforms, self.count = transforms, count
        noise = numpy.random.default_rng(0).normal(size=(60, 90, 90))
        self.volume = scipy.ndimage.gaussian_filter(noise, 3).astype(numpy.float32) * 20
        self.labels = (self.volume > 0.4).astype(numpy.uint8)

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        draw = numpy.random.default_rng(i)
        corner = [int(draw.integers(0, whole - part)) for whole, part in zip(self.volume.shape, PATCH, strict=True)]
        crop = tuple(slice(c, c + p) for c, p in zip(corner, PATCH, strict=True))
        image, segmentation = self.volume[crop].copy(), self.labels[crop].copy()
        for transform in self.transforms:
            image, segmentation = transform(image, segmentation, draw)
        return torch.from_numpy(image.astype(numpy.float32))[None], torch.from_numpy(segmentation)


class Trainer:
    def __init__(self, gpu):
        self.gpu = gpu

    def train_step(self, data, target):
        self.gpu.copy(data.nbytes + target.nbytes, pinned=True, non_blocking=True)
        if FIX:
            self.gpu.launch(0.004, "batched transforms")
        for stage in range(6):
            self.gpu.launch(0.002, f"stage {stage}")
        self.gpu.launch(0.012, "dice, cross entropy, backward, sgd")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    trainer = Trainer(gpu)
    dataset = nnUNetDataset([] if FIX else TRANSFORMS)
    loader = DataLoader(dataset, BATCH, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for data, target in loader:
            trainer.train_step(data, target)
            step, samples = step + 1, samples + len(data)
            if step % 25 == 0:
                print(f"train_loss {gpu.item():.4f}  Epoch time: iteration {step}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
