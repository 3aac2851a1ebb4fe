"""Each image is read at the start, only to estimate how much memory a cache would take (talmolab/sleap-nn#486)."""

import os
import tempfile

import numpy
import torch
from common import FIX, done, over
from PIL import Image
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

FOLDER = os.path.join(tempfile.gettempdir(), "stoker-reports-flies")


def make_images(count=48):
    os.makedirs(FOLDER, exist_ok=True)
    noise = numpy.random.default_rng(0).integers(0, 255, (1024, 1024), numpy.uint8)
    paths = [os.path.join(FOLDER, f"{n:03d}.png") for n in range(count)]
    for path in paths:
        if not os.path.exists(path):
            Image.fromarray(noise).save(path, compress_level=1)
    return paths * 14


def check_memory(paths):
    total = 0
    for path in paths[:1] if FIX else paths:
        total += numpy.asarray(Image.open(path)).nbytes
    return total * (len(paths) if FIX else 1)


class Frames(Dataset):
    def __init__(self, paths):
        self.frames = torch.zeros(len(paths), 64, 64)

    def __len__(self):
        return len(self.frames)

    def __getitem__(self, i):
        return self.frames[i]


def main():
    paths = make_images()
    over()
    needed = check_memory(paths)
    gpu, data, samples = Device(), Frames(paths), 0
    assert needed > data.frames.nbytes
    loader = DataLoader(data, batch_size=16, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for batch in loader:
            gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.025, "step")
            samples += len(batch)
            if over():
                break
        gpu.synchronize(spin=False)
    done(gpu, samples)


if __name__ == "__main__":
    main()
