"""Slices of CT scans with the organs marked on them: a 2D network evaluates features on single slices."""

# https://github.com/kaiko-ai/eva/pull/705
# Cause: scans lie as .nii.gz, and reading one slice unpacks the file from its start up to that slice.
# Fix: unpack the files once beforehand and read slices from .nii.
# Line: 51 to 53, gzip.open in load_slice.

import gzip
import os
import tempfile

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

HEADER, SIZE, DEPTH = 352, 160, 120


def make_scans(folder, count=10):
    """Scans and masks as the download has them."""
    draw = numpy.random.default_rng(0)
    rows = numpy.arange(SIZE)
    for i in range(count):
        scan = (draw.normal(0, 40, (DEPTH, SIZE, SIZE)) + 30 * numpy.sin(rows / 9)).astype(numpy.int16)
        for name, array in (("ct", scan), ("mask", (scan > 60).astype(numpy.uint8))):
            with gzip.open(os.path.join(folder, f"{name}{i}.nii.gz"), "wb", 6) as file:
                file.write(bytes(HEADER) + array.tobytes())


def decompress(folder):
    for name in [n for n in os.listdir(folder) if n.endswith(".gz")]:
        with gzip.open(os.path.join(folder, name)) as packed, open(os.path.join(folder, name[:-3]), "wb") as file:
            file.write(packed.read())


class TotalSegmentator2D(Dataset):
    def __init__(self, folder, count=10):
        self.folder, self.count = folder, count

    def __len__(self):
        return self.count * DEPTH

    def load_slice(self, name, kind, number):
        path, nbytes = os.path.join(self.folder, name + ".nii"), SIZE * SIZE * numpy.dtype(kind).itemsize
        if FIX:
            with open(path, "rb") as file:
                file.seek(HEADER + number * nbytes)
                return numpy.frombuffer(file.read(nbytes), kind).reshape(SIZE, SIZE)
        with gzip.open(path + ".gz") as file:
            file.seek(HEADER + number * nbytes)
            return numpy.frombuffer(file.read(nbytes), kind).reshape(SIZE, SIZE)

    def __getitem__(self, i):
        scan, number = divmod(i, DEPTH)
        image = self.load_slice(f"ct{scan}", numpy.int16, number).astype(numpy.float32)
        mask = self.load_slice(f"mask{scan}", numpy.uint8, number).copy()
        return torch.from_numpy((image.clip(-100, 240) + 100) / 340), torch.from_numpy(mask)


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        make_scans(folder)
        if FIX:
            decompress(folder)
        loader = DataLoader(TotalSegmentator2D(folder), 8, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
        while not over():
            for images, masks in loader:
                gpu.copy(images.nbytes + masks.nbytes, pinned=True, non_blocking=True)
                gpu.launch(0.02, "frozen encoder")
                gpu.launch(0.016, "decoder, backward, adamw")
                step, samples = step + 1, samples + len(images)
                if step % 25 == 0:
                    print(f"step {step}: dice loss {gpu.item():.3f}", flush=True)
                if over():
                    break
        done(gpu, samples)


if __name__ == "__main__":
    main()
