"""collate_fn makes a tensor of a list of arrays, element by element (awslabs/gluonts#1732, pytorch/pytorch#57467)."""

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Series(Dataset):
    def __init__(self):
        self.rows = numpy.random.default_rng(0).random((1000, 6000))

    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        return self.rows[i % 1000]


def batchify(rows):
    if FIX:
        return torch.tensor(numpy.array(rows), dtype=torch.float32)
    return torch.tensor(rows, dtype=torch.float32)


def main():
    gpu = Device()
    loader = DataLoader(Series(), batch_size=32, shuffle=True, num_workers=1, pin_memory=True, collate_fn=batchify)
    samples = 0
    for batch in loader:
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.012, "step")
        samples += len(batch)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
