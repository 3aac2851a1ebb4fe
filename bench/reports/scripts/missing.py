"""One recording cannot be read and is tried again and again (kitzeslab/opensoundscape#441)."""

import time

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    def __init__(self):
        self.paths = [f"/data/clips/site{n % 7}/{n:05d}.flac" for n in range(600)]
        if FIX:
            self.paths.remove("/data/clips/site4/00312.flac")

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        return self.read(self.paths[i])

    def read(self, path):
        time.sleep(0.004)
        if path.endswith("00312.flac"):
            for _ in range(8):  # FileNotFoundError, and a back-off
                time.sleep(0.5)
        return torch.zeros(1, 16000)


def main():
    gpu = Device()
    loader = DataLoader(Clips(), batch_size=6, shuffle=True, num_workers=3, pin_memory=True, persistent_workers=True)
    samples = 0
    while not over():
        for batch in loader:
            gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.02, "step")
            samples += len(batch)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
