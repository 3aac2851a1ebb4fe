"""All workers start again at each epoch, and the loop has no batch until they have started (huggingface/pytorch-image-models#140)."""

import time

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class ImageDataset(Dataset):
    def __len__(self):
        return 16 * 14

    def __getitem__(self, i):
        time.sleep(0.012)  # a read from a busy storage
        return torch.zeros(3, 32, 32)


class RepeatSampler:
    def __init__(self, sampler):
        self.sampler = sampler

    def __iter__(self):
        while True:
            yield from iter(self.sampler)


class MultiEpochsDataLoader(DataLoader):
    def __init__(self, *arguments, **settings):
        super().__init__(*arguments, **settings)
        self._DataLoader__initialized = False
        self.batch_sampler = RepeatSampler(self.batch_sampler)
        self._DataLoader__initialized = True
        self.iterator = super().__iter__()

    def __len__(self):
        return len(self.batch_sampler.sampler)

    def __iter__(self):
        for _ in range(len(self)):
            yield next(self.iterator)


def train_one_epoch(gpu, loader):
    samples = 0
    for batch in loader:
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.06, "step")
        samples += len(batch)
        if over():
            break
    gpu.synchronize(spin=False)
    return samples


def main():
    gpu, samples = Device(), 0
    kind = MultiEpochsDataLoader if FIX else DataLoader
    loader = kind(ImageDataset(), batch_size=16, shuffle=True, num_workers=5, pin_memory=True)
    while not over():
        samples += train_one_epoch(gpu, loader)
    done(gpu, samples)


if __name__ == "__main__":
    main()
