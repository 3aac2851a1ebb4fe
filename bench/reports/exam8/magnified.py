"""Cells under a microscope, sixty pictures that are very large; what has been read is kept in memory."""

# https://github.com/szymonmaszke/torchdatasets/pull/17
# Cause: each worker keeps pictures in its own memory, and workers end with the epoch: all are decoded in each epoch.
# Fix: keep them in memory that all processes share (a manager): an epoch of 15 minutes took 20 s.
# Line: 68, self.cacher in Slides.__getitem__ (kept at 23) and the DataLoader at 86, whose workers start with each epoch.

import os
import tempfile

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

SIDE, COUNT = 384, 60


class Memory:
    def __init__(self):
        self.kept = {}

    def __contains__(self, index):
        return index in self.kept

    def __getitem__(self, index):
        return self.kept[index]

    def __setitem__(self, index, picture):
        self.kept[index] = picture


class SharedMemory:
    """One block for all processes, and a flag for each picture that is there."""

    def __init__(self):
        self.block = torch.zeros(COUNT, SIDE, SIDE, 3, dtype=torch.uint8).share_memory_()
        self.there = torch.zeros(COUNT, dtype=torch.bool).share_memory_()

    def __contains__(self, index):
        return bool(self.there[index])

    def __getitem__(self, index):
        return self.block[index].numpy()

    def __setitem__(self, index, picture):
        self.block[index] = torch.from_numpy(picture)
        self.there[index] = True


class Slides(Dataset):
    def __init__(self, folder):
        self.paths, self.cacher = sorted(os.path.join(folder, name) for name in os.listdir(folder)), None

    def cache(self, cacher):
        self.cacher = cacher
        return self

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        if index not in self.cacher:
            slide = cv2.imdecode(numpy.fromfile(self.paths[index], numpy.uint8), cv2.IMREAD_COLOR)
            self.cacher[index] = cv2.resize(slide, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
        picture = numpy.rot90(self.cacher[index], numpy.random.randint(4))
        return torch.from_numpy(numpy.ascontiguousarray(picture)), index % 5


def scan_slides(folder):
    draw = numpy.random.default_rng(0)
    cells = cv2.GaussianBlur(draw.integers(0, 255, (1600, 2000, 3), dtype=numpy.uint8), (0, 0), 4)
    for i in range(COUNT):
        cv2.imwrite(os.path.join(folder, f"{i:03}.jpg"), numpy.roll(cells, 20 * i, 0))


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu, samples, epoch = Device(spin=False), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        scan_slides(folder)
        dataset = Slides(folder).cache(SharedMemory() if FIX else Memory())
        loader = DataLoader(dataset, 6, shuffle=True, num_workers=2, pin_memory=True)
        while not over():
            for pictures, labels in loader:
                gpu.copy(pictures.nbytes + labels.nbytes, pinned=True, non_blocking=True)
                gpu.launch(0.013, "densenet")
                gpu.launch(0.026, "backward, adam")
                samples += len(labels)
                if over():
                    break
            epoch += 1
            print(f"Epoch {epoch}: loss {gpu.item():.4f}", flush=True)
        done(gpu, samples)


if __name__ == "__main__":
    main()
