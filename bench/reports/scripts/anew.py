"""A new iterator, and new workers, for every step (SakanaAI/continuous-thought-machines#19)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Digits(Dataset):
    def __len__(self):
        return 60_000

    def __getitem__(self, i):
        return torch.zeros(1, 28, 28)


def main():
    gpu = Device()
    loader = DataLoader(Digits(), batch_size=32, shuffle=True, num_workers=2, pin_memory=True)
    batches, samples = iter(loader), 0
    while not over():
        batch = next(batches) if FIX else next(iter(loader))
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.03, "step")
        samples += len(batch)
    done(gpu, samples)


if __name__ == "__main__":
    main()
