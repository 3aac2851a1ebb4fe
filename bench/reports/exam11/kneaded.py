"""Tumours are segmented in volumes of MR; patches are bent before the network sees them."""

# https://github.com/MIC-DKFZ/batchgenerators/issues/56

import numpy
import torch
from common import FIX, done, over
from scipy.ndimage import gaussian_filter, map_coordinates, zoom
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

PATCH, ALPHA, SIGMA, FACTOR, BATCH = (48, 48, 48), 200.0, 12.0, 8, 2
MESH = numpy.array(numpy.meshgrid(*(numpy.arange(side) for side in PATCH), indexing="ij"), numpy.float32)


def elastic_deform_coordinates(draw):
    offsets = []
    for _ in range(len(PATCH)):
        if FIX:
            small = draw.random([side // FACTOR for side in PATCH]) * 2 - 1
            field = gaussian_filter(small, SIGMA / FACTOR, mode="constant", cval=0)
            offsets.append(zoom(field, FACTOR, order=1) * ALPHA / FACTOR)
        else:
            noise = draw.random(PATCH) * 2 - 1
            offsets.append(gaussian_filter(noise, SIGMA, mode="constant", cval=0, truncate=6) * ALPHA)
    return MESH + numpy.array(offsets, numpy.float32)


def augment_spatial(data, seg, draw):
    coordinates = elastic_deform_coordinates(draw)
    data = map_coordinates(data, coordinates, order=0, mode="nearest")
    return data, map_coordinates(seg, coordinates, order=0, mode="nearest")


class BraTS2017DataLoader3D(Dataset):
    def __init__(self, count=4000):
        noise = numpy.random.default_rng(0).normal(size=(80, 80, 80))
        self.volume = gaussian_filter(noise, 3).astype(numpy.float32) * 20
        self.labels, self.count = (self.volume > 0.5).astype(numpy.uint8), count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        draw = numpy.random.default_rng(i)
        corner = draw.integers(0, 80 - PATCH[0], 3)
        crop = tuple(slice(c, c + side) for c, side in zip(corner, PATCH, strict=True))
        data, seg = augment_spatial(self.volume[crop], self.labels[crop], draw)
        return torch.from_numpy(data)[None], torch.from_numpy(seg)


class UNet3D:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, data, seg):
        self.gpu.copy(data.nbytes + seg.nbytes, pinned=True, non_blocking=True)
        for stage in range(5):
            self.gpu.launch(0.0011, f"stage {stage}")
        self.gpu.launch(0.0085, "dice, backward, sgd")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    model = UNet3D(gpu)
    loader = DataLoader(BraTS2017DataLoader3D(), BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for data, seg in loader:
            model.step(data, seg)
            step, samples = step + 1, samples + len(data)
            if step % 25 == 0:
                print(f"batch {step}: dice loss {gpu.item():.4f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
