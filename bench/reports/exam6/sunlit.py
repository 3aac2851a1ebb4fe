"""Forecasts of sunshine from pictures of a satellite, kept in a Zarr array of compressed chunks."""

# https://github.com/openclimatefix-archives/nowcasting_dataset/issues/16
# Cause: chunks hold many times, so that a random sample unpacks many more pictures than it needs.
# Fix: write the array anew with a single time to a chunk: 17 to 40 samples a second.
# Line: 34, zlib.decompress in chunk (chunks of 12 times by line 48).

import os
import tempfile
import zlib

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

TIMES, HEIGHT, WIDTH, STEPS, CROP = 432, 256, 288, 6, 64


class ZarrArray:
    """An array in chunks along its first dimension, one file each."""

    def __init__(self, folder, chunk):
        self.folder, self.size = folder, chunk

    def write(self, first, array):
        with open(os.path.join(self.folder, f"{first // self.size}.0.0"), "wb") as file:
            file.write(zlib.compress(array.tobytes(), 3))

    def chunk(self, number):
        with open(os.path.join(self.folder, f"{number}.0.0"), "rb") as file:
            packed = file.read()
        return numpy.frombuffer(zlib.decompress(packed), numpy.int16).reshape(-1, HEIGHT, WIDTH)

    def __getitem__(self, key):
        times, rows, columns = key
        out, first = [], times.start
        while first < times.stop:
            number, offset = divmod(first, self.size)
            part = self.chunk(number)[offset : offset + times.stop - first]
            out.append(part[:, rows, columns])
            first += len(part)
        return numpy.concatenate(out)


def make(folder):
    chunk = 1 if FIX else 12
    array, draw = ZarrArray(folder, chunk), numpy.random.default_rng(0)
    clouds = draw.integers(0, 60, (HEIGHT, WIDTH), dtype=numpy.int16)
    for first in range(0, TIMES, chunk):
        array.write(first, numpy.stack([numpy.roll(clouds, t, 1) + t % 40 for t in range(first, first + chunk)]))
    return array


class Satellite(Dataset):
    def __init__(self, array):
        self.array = array

    def __len__(self):
        return TIMES - STEPS

    def __getitem__(self, i):
        row, column = i * 7 % (HEIGHT - CROP), i * 11 % (WIDTH - CROP)
        pictures = self.array[i : i + STEPS, row : row + CROP, column : column + CROP]
        return torch.from_numpy(pictures.astype(numpy.float32) / 1023)


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        loader = DataLoader(Satellite(make(folder)), 8, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
        while not over():
            for pictures in loader:
                gpu.copy(pictures.nbytes, pinned=True, non_blocking=True)
                gpu.launch(0.014, "perceiver")
                gpu.launch(0.028, "backward, adam")
                step, samples = step + 1, samples + len(pictures)
                if step % 25 == 0:
                    print(f"step {step}: loss {gpu.item():.3f}", flush=True)
                if over():
                    break
        done(gpu, samples)


if __name__ == "__main__":
    main()
