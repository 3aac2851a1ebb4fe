"""Samples lie in many files on a slow disk, and none is read twice (nianticlabs/monodepth2#157)."""

import os
import sys

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Drives(Dataset):
    def __init__(self, folder):
        self.paths = sorted(os.path.join(folder, name) for name in os.listdir(folder))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        if FIX:
            return torch.zeros(110_000, dtype=torch.uint8)
        with open(self.paths[i], "rb") as file:
            return torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)


def main():
    gpu = Device()
    loader = DataLoader(Drives(sys.argv[1]), batch_size=12, shuffle=True, num_workers=2, pin_memory=True)
    samples = 0
    for batch in loader:
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.03, "step")
        samples += len(batch)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
