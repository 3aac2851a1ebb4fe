"""Moods and genres of songs from raw sound; songs are kept as they were downloaded, compressed."""

# https://github.com/MTG/mtg-jamendo-dataset/issues/19
# Cause: the workers are busy decoding: each item unpacks its compressed song to take some seconds of it.
# Fix: decode all songs once, save them as .npy, and read only what is wanted.
# Line: 44, decode in Songs.__getitem__ (the work is at 28 to 32).

import os
import tempfile
import zlib

import numpy
import scipy.fft
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

BLOCK, BLOCKS, RATE, WANTED = 1152, 620, 22_050, 65_536


def encode(samples):
    levels = numpy.round(scipy.fft.dct(samples.reshape(BLOCKS, BLOCK), norm="ortho") * 24)
    return zlib.compress(levels.clip(-127, 127).astype(numpy.int8).tobytes(), 5)


def decode(path):
    """The whole song: it has to be decoded from its start."""
    with open(path, "rb") as file:
        levels = numpy.frombuffer(zlib.decompress(file.read()), numpy.int8).reshape(BLOCKS, BLOCK)
    samples = scipy.fft.idct(levels.astype(numpy.float32) / 24, norm="ortho").ravel()
    return samples / max(abs(samples).max(), 1e-6)


class Songs(Dataset):
    def __init__(self, folder, songs, count=2000):
        self.folder, self.songs, self.count = folder, songs, count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        path, at = os.path.join(self.folder, f"{i % self.songs}"), 997 * i % (BLOCK * BLOCKS - WANTED)
        song = numpy.load(f"{path}.npy", mmap_mode="r") if FIX else decode(f"{path}.mp")
        return torch.from_numpy(numpy.array(song[at : at + WANTED])), (torch.arange(56) % 9 == i % 9).float()


def download(folder, songs=16):
    draw, time = numpy.random.default_rng(0), numpy.arange(BLOCK * BLOCKS) / RATE
    for i in range(songs):
        tune = sum(numpy.sin(6.283 * f * time) for f in draw.uniform(60, 900, 3)) + 0.1 * draw.standard_normal(len(time))
        with open(os.path.join(folder, f"{i}.mp"), "wb") as file:
            file.write(encode(tune))
        if FIX:
            numpy.save(os.path.join(folder, f"{i}.npy"), decode(os.path.join(folder, f"{i}.mp")))
    return songs


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        dataset = Songs(folder, download(folder))
        loader = DataLoader(dataset, 8, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
        while not over():
            for sound, tags in loader:
                gpu.copy(sound.nbytes + tags.nbytes, pinned=True, non_blocking=True)
                gpu.launch(0.008, "sample cnn")
                gpu.launch(0.016, "backward, adam")
                step, samples = step + 1, samples + len(tags)
                if step % 20 == 0:
                    print(f"[{step}] train loss: {gpu.item():.4f}", flush=True)
                if over():
                    break
        done(gpu, samples)


if __name__ == "__main__":
    main()
