"""Organs are segmented in slices of MR; each organ's grey values are bent by a random curve, to be ready for other scanners."""

# https://github.com/Kaiseem/SLAug/issues/2
# Cause: each curve has 100,000 points, and one is made for the whole slice and one for each organ, in the worker.
# Fix: nTimes=1000 points.
# Line: 18 to 26, 30, 33 to 37, 46 to 54, 69 to 72: non_linear_transformation, called in AbdominalDataset.__getitem__.

import numpy
import torch
from common import FIX, done, over
from scipy.special import comb
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

SIDE, ORGANS, BATCH = 192, 4, 4


def bernstein_poly(i, n, t):
    return comb(n, i) * (t ** (n - i)) * (1 - t) ** i


def bezier_curve(points, nTimes):
    t = numpy.linspace(0.0, 1.0, nTimes)
    polynomials = numpy.array([bernstein_poly(i, len(points) - 1, t) for i in range(len(points))])
    x, y = numpy.array(points).T
    return numpy.dot(x, polynomials), numpy.dot(y, polynomials)


class LocationScaleAugmentation:
    def __init__(self, vrange=(0.0, 1.0), background_threshold=0.01, nTimes=1000 if FIX else 100_000):
        self.vrange, self.background_threshold, self.nTimes = vrange, background_threshold, nTimes

    def non_linear_transformation(self, inputs, inverse=False, inverse_prop=0.5):
        start, end = ((0, 0), (1, 1)) if numpy.random.random() > inverse_prop or not inverse else ((0, 1), (1, 0))
        x, y = bezier_curve([start, *numpy.random.rand(2, 2), end], self.nTimes)
        x, y = numpy.sort(x), y if inverse else numpy.sort(y)
        return numpy.interp(inputs, x, y)

    def location_scale_transformation(self, inputs):
        scale, location = numpy.clip(numpy.random.normal(1, 0.1), 0.9, 1.1), numpy.random.normal(0, 0.05)
        return numpy.clip(inputs * scale + location, *self.vrange)

    def Global_Location_Scale_Augmentation(self, image):
        return self.location_scale_transformation(self.non_linear_transformation(image))

    def Local_Location_Scale_Augmentation(self, image, mask):
        output = numpy.zeros_like(image)
        background = numpy.where(mask == 0)
        output[background] = self.location_scale_transformation(self.non_linear_transformation(image, inverse=True))[background]
        for organ in range(1, ORGANS + 1):
            place = numpy.where(mask == organ)
            output[place] = self.location_scale_transformation(self.non_linear_transformation(image[place], inverse=True))
        output[image <= self.background_threshold] = image[image <= self.background_threshold]
        return output


class AbdominalDataset(Dataset):
    def __init__(self, count=1600):
        draw = numpy.random.default_rng(0)
        rows, columns = numpy.mgrid[:SIDE, :SIDE] / SIDE
        waves = [0.5 + 0.4 * numpy.sin(9 * rows + v) * columns for v in range(30)]
        self.images = [numpy.clip(wave + draw.normal(0, 0.02, rows.shape), 0, 1) for wave in waves]
        self.mask = numpy.minimum((rows * 3 + columns * 3).astype(int), ORGANS)
        self.count, self.augment = count, LocationScaleAugmentation()

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        image = self.images[i % len(self.images)]
        whole = self.augment.Global_Location_Scale_Augmentation(image)
        local = self.augment.Local_Location_Scale_Augmentation(image, self.mask)
        return torch.from_numpy(numpy.stack([whole, local]).astype(numpy.float32)), torch.from_numpy(self.mask)


class EfficientUnet:
    def __init__(self, gpu):
        self.gpu = gpu

    def train(self, views, masks):
        self.gpu.copy(views.nbytes + masks.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.018, "both views, saliency")
        self.gpu.launch(0.027, "fused view, dice, backward, adam")


def main():
    torch.set_num_threads(1)
    gpu, samples, iteration = Device(spin=False), 0, 0
    model = EfficientUnet(gpu)
    loader = DataLoader(AbdominalDataset(), BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for views, masks in loader:
            model.train(views, masks)
            iteration, samples = iteration + 1, samples + len(views)
            if iteration % 20 == 0:
                print(f"[{iteration}] [batch_loss {gpu.item():.4f}]", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
