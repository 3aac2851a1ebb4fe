"""Organs in volumes are found tile by tile by a network that was trained before."""

# https://github.com/MIC-DKFZ/nnUNet/issues/651

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

SHAPE, PATCH, STEP = (96, 160, 160), (48, 96, 96), 0.5
TILES_AT_ONCE = 2 if FIX else 1


class Cases(Dataset):
    def __init__(self, count=400):
        self.volume, self.count = torch.from_numpy(numpy.random.default_rng(0).normal(size=SHAPE)), count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.volume.float(), i


class Unet:
    def __init__(self, gpu):
        self.gpu = gpu

    def steps(self):
        axes = [range(0, size - patch + 1, int(patch * STEP)) for size, patch in zip(SHAPE, PATCH, strict=True)]
        return [(z, y, x) for z in axes[0] for y in axes[1] for x in axes[2]]

    def predict_3d(self, volume):
        self.gpu.copy(volume.nbytes, pinned=True, non_blocking=True)
        tiles = self.steps()
        for first in range(0, len(tiles), TILES_AT_ONCE):
            count = len(tiles[first : first + TILES_AT_ONCE])
            for mirror in range(4):
                self.gpu.launch(0.0118 * count, f"unet, mirror {mirror}")
            self.gpu.launch(0.0004 * count, "gaussian, add")
        self.gpu.launch(0.002, "divide, argmax")
        return self.gpu.item()


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False, memory_used=5 << 30), 0
    network = Unet(gpu)
    loader = DataLoader(Cases(), None, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for volume, case in loader:
            network.predict_3d(volume)
            samples += 1
            print(f"predicting case_{case:03d}: {len(network.steps())} tiles", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
