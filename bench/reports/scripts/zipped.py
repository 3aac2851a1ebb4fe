"""A whole compressed .npz is inflated for one frame of it (numpy/numpy#5976)."""

import os
import tempfile

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

FOLDER = os.path.join(tempfile.gettempdir(), "stoker-reports-npz")


def make_sequences(count=8):
    os.makedirs(FOLDER, exist_ok=True)
    for n in range(count):
        path = os.path.join(FOLDER, f"sequence{n}")
        if not os.path.exists(path + ".npz"):
            frames = numpy.random.default_rng(n).integers(0, 8, (64, 96, 96), numpy.uint8)
            numpy.save(path + ".npy", frames)
            numpy.savez_compressed(path + ".npz", frames=frames)
    return [os.path.join(FOLDER, f"sequence{n}") for n in range(count)]


class Frames(Dataset):
    def __init__(self, sequences):
        self.sequences = sequences

    def __len__(self):
        return 64 * len(self.sequences)

    def __getitem__(self, i):
        path, frame = self.sequences[i // 64], i % 64
        if FIX:
            return torch.from_numpy(numpy.load(path + ".npy", mmap_mode="r")[frame].copy())
        return torch.from_numpy(numpy.load(path + ".npz")["frames"][frame])


def main():
    gpu = Device()
    loader = DataLoader(Frames(make_sequences()), batch_size=8, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    samples = 0
    while not over():
        for batch in loader:
            gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.012, "step")
            samples += len(batch)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
