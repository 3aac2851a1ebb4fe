"""Volumes of MR of the brain are rebuilt by an autoencoder; what it cannot rebuild may be ill."""

# https://github.com/aramis-lab/clinicadl/pull/465
# Cause: validation compares each volume with its copy by the structural similarity, which is computed on the CPU.
# Fix: compute it on the GPU: each validation step is about 5 times as fast.
# Line: 34 to 39, 71, 87: ssim, called in Validator.evaluate.

import numpy
import scipy.ndimage
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

SHAPE, BATCH, TRAIN, VALID = (56, 64, 56), 2, 72, 24


class CapsDatasetImage(Dataset):
    def __init__(self, count):
        self.count = count
        noise = numpy.random.default_rng(0).normal(size=(6, *SHAPE))
        self.volumes = scipy.ndimage.gaussian_filter(noise, (0, 2, 2, 2)).astype(numpy.float32)

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        volume = self.volumes[i % len(self.volumes)]
        return torch.from_numpy((volume - volume.min()) / (volume.max() - volume.min()))


def ssim(y, y_pred):
    """Means, variances and their product in a window of Gauss."""
    window = lambda volume: scipy.ndimage.gaussian_filter(volume, 1.5, truncate=3.5)  # noqa: E731
    mean, other = window(y), window(y_pred)
    variance, varied = window(y * y) - mean**2, window(y_pred * y_pred) - other**2
    both = window(y * y_pred) - mean * other
    contrast = (2 * both + 0.0009) / (variance + varied + 0.0009)
    return float(((2 * mean * other + 0.0001) / (mean**2 + other**2 + 0.0001) * contrast).mean())


class Autoencoder:
    def __init__(self, gpu):
        self.gpu, self.draw = gpu, numpy.random.default_rng(1)

    def train(self, volumes):
        self.gpu.copy(volumes.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.0118, "encoder, decoder")
        self.gpu.launch(0.0242, "mse, backward, adam")

    def predict(self, volumes):
        self.gpu.copy(volumes.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.0118, "encoder, decoder")
        return volumes.numpy() + self.draw.normal(0, 0.05, volumes.shape).astype(numpy.float32)


class Validator:
    def __init__(self, gpu, model):
        self.gpu, self.model = gpu, model

    def evaluate(self, loader):
        values = []
        for volumes in loader:
            outputs = self.model.predict(volumes)
            if FIX:
                for _ in volumes:
                    self.gpu.launch(0.0011, "ssim")
                    values.append(self.gpu.item())
                continue
            self.gpu.item()
            values += [ssim(y, y_pred) for y, y_pred in zip(volumes.numpy(), outputs, strict=True)]
        return float(numpy.mean(values))


def main():
    torch.set_num_threads(1)
    gpu, samples, epoch = Device(spin=False), 0, 0
    model = Autoencoder(gpu)
    validator, options = Validator(gpu, model), {"num_workers": 1, "pin_memory": True, "persistent_workers": True}
    train = DataLoader(CapsDatasetImage(TRAIN), BATCH, shuffle=True, **options)
    valid = DataLoader(CapsDatasetImage(VALID), BATCH, **options)
    while not over():
        for volumes in train:
            model.train(volumes)
            samples += len(volumes)
        epoch += 1
        print(f"Epoch {epoch}: validation SSIM {validator.evaluate(valid):.4f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
