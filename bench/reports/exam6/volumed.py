"""Cells in volumes of an electron microscope: a 3D U-Net on patches."""

# https://github.com/constantinpape/torch-em/pull/357
# Cause: batches are copied to the GPU from pageable memory, and each copy waits for what came before.
# Fix: pin_memory=True for the loader and non_blocking=True for the copies.
# Line: 30, 38 and 39, DataLoader without pin_memory, copies that block.

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Patches(Dataset):
    """Patches that lie ready in memory, with a label for boundaries and one for each direction."""

    def __init__(self, count=400, shape=(64, 192, 192)):
        self.count = count
        self.raw = torch.rand(1, 1, *shape)
        self.labels = torch.zeros(1, 3, *shape)

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.raw, self.labels


def loaders(data):
    return DataLoader(data, None, shuffle=True, num_workers=1, pin_memory=FIX, persistent_workers=True)


def train(gpu, loader):
    samples = step = 0
    while not over():
        for x, y in loader:
            # The emulated device cannot see whether memory is pinned: that is told here.
            gpu.copy(x.nbytes, pinned=FIX, non_blocking=FIX)
            gpu.copy(y.nbytes, pinned=FIX, non_blocking=FIX)
            gpu.launch(0.011, "unet")
            gpu.launch(0.022, "dice loss, backward, adam")
            step, samples = step + 1, samples + len(x)
            if step % 20 == 0:
                print(f"step {step}: loss {gpu.item():.3f}", flush=True)
            if over():
                break
    return samples


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    done(gpu, train(gpu, loaders(Patches())))


if __name__ == "__main__":
    main()
