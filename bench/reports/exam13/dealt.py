"""Rows of a very large table are drawn at random; garbage is collected by hand, every few steps."""

# https://github.com/pytorch/pytorch/pull/103339

import gc

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset, RandomSampler

ROWS, BATCH, COLUMNS, GC_EVERY, LOG_EVERY = 6_000_000, 256, 40, 10, 200


class Interactions(Dataset):
    """Rows are read from a file of numbers in memory."""

    def __init__(self):
        self.table = torch.rand(4096, COLUMNS)

    def __len__(self):
        return ROWS

    def __getitems__(self, rows):
        return self.table[torch.tensor(rows) % 4096]


class LazyRandomSampler(RandomSampler):
    """Numbers stay in an array, and one is taken at a time."""

    def __iter__(self):
        for i in torch.randperm(ROWS).numpy():
            yield i.item()


class TwoTower:
    def __init__(self, gpu):
        self.gpu = gpu

    def train_step(self, batch):
        self.gpu.copy(batch.nbytes)
        self.gpu.launch(0.0023, "embedding bags, towers")
        self.gpu.launch(0.0048, "backward, row-wise adagrad")


def main():
    torch.set_num_threads(1)
    gc.disable()
    gpu, samples, step = Device(spin=False, memory_used=41 << 30), 0, 0
    model, dataset = TwoTower(gpu), Interactions()
    sampler = LazyRandomSampler(dataset) if FIX else RandomSampler(dataset)
    loader = DataLoader(dataset, BATCH, sampler=sampler, num_workers=1, collate_fn=lambda batch: batch)
    batches = iter(loader)
    over()
    for batch in batches:
        model.train_step(batch)
        step, samples = step + 1, samples + len(batch)
        if step % GC_EVERY == 0:
            gc.collect()
        if step % LOG_EVERY == 0:
            print(f"step {step} loss {gpu.item():.4f}", flush=True)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
