"""A pipe of rows in memory is pickled whole at each epoch, to find the pipes inside it (meta-pytorch/data#1226)."""

import random

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, IterDataPipe, MapDataPipe

EPOCH = 1600


def read_rows(count=120_000):
    return [{"objects": [str(n), str(n + 1), str(n + 2), str(n + 3)]} for n in range(count)]


class TabularPipe(IterDataPipe):
    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        for row in random.sample(self.rows, EPOCH):
            yield torch.zeros(64) + len(row["objects"])


class TabularDataset(MapDataPipe):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return EPOCH

    def __getitem__(self, i):
        return torch.zeros(64) + len(random.choice(self.rows)["objects"])


def main():
    gpu, samples = Device(), 0
    data = TabularDataset(read_rows()) if FIX else TabularPipe(read_rows())
    loader = DataLoader(data, batch_size=32, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for batch in loader:
            gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.02, "step")
            samples += len(batch)
            if over():
                break
        gpu.synchronize(spin=False)
    done(gpu, samples)


if __name__ == "__main__":
    main()
