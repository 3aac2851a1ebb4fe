"""Rows of a table in memory are fetched one by one and stacked again to large batches (pytorch/pytorch#26957)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler


class Examples(Dataset):
    def __init__(self, rows=400_000):
        self.features, self.labels = torch.zeros(rows, 20), torch.zeros(rows, dtype=torch.long)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.features[i], self.labels[i]


def make_loader(data, size=2048):
    if FIX:
        sampler = BatchSampler(RandomSampler(data), size, drop_last=True)
        return DataLoader(data, sampler=sampler, batch_size=None, num_workers=1, pin_memory=True, persistent_workers=True)
    return DataLoader(data, size, shuffle=True, num_workers=1, pin_memory=True, drop_last=True, persistent_workers=True)


def main():
    torch.set_num_threads(1)
    gpu, samples, loader = Device(), 0, make_loader(Examples())
    while not over():
        for features, labels in loader:
            gpu.copy(features.nbytes + labels.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.005, "step")
            samples += len(labels)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
