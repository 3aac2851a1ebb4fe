"""Millions of rows of a warehouse's table, hundreds of columns wide, come as row groups; a network learns to rank."""

# https://github.com/uber/petastorm/issues/740

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

COLUMNS, GROUP, BATCH, CAPACITY = 320, 2000, 256, 6000


class BatchReader:
    """Row groups as they come from the files: a column is an array."""

    def __init__(self):
        draw = numpy.random.default_rng(0)
        self.groups = [
            {f"feature_{c:03d}": draw.random(GROUP, dtype=numpy.float32) for c in range(COLUMNS)} for _ in range(4)
        ]

    def __iter__(self):
        while True:
            yield from self.groups


class BatchedRandomShufflingBuffer:
    """Keeps rows of several groups, and draws batches of them."""

    def __init__(self):
        self.items, self.size = None, 0

    def add_many(self, items):
        if self.items is None:
            self.items = [item.new_empty((CAPACITY, *item.shape[1:])) for item in items]
        for kept, item in zip(self.items, items, strict=True):
            kept[self.size : self.size + len(item)] = item
        self.size += len(items[0])

    def can_add(self):
        return self.size + GROUP <= CAPACITY

    def retrieve(self):
        chosen = torch.randperm(self.size - BATCH)[:BATCH]
        sample = [kept[chosen] for kept in self.items]
        for kept in self.items:
            kept[chosen] = kept[self.size - BATCH : self.size].clone()
        self.size -= BATCH
        return sample


class BatchedDataLoader:
    def __init__(self, reader):
        self.reader, self.buffer = reader, BatchedRandomShufflingBuffer()

    def convert(self, group):
        if FIX:
            return [torch.from_numpy(numpy.stack(list(group.values()), 1))]
        return [torch.as_tensor(column) for column in group.values()]

    def __iter__(self):
        groups = iter(self.reader)
        while True:
            while self.buffer.can_add():
                self.buffer.add_many(self.convert(next(groups)))
            sample = self.buffer.retrieve()
            yield sample[0] if FIX else torch.stack(sample, 1)


class Ranker:
    def __init__(self, gpu):
        self.gpu = gpu

    def fit_batch(self, x):
        self.gpu.copy(x.nbytes)
        self.gpu.launch(0.0008, "embedding, cross")
        self.gpu.launch(0.0026, "deep, backward, adagrad")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    model = Ranker(gpu)
    over()
    for x in BatchedDataLoader(BatchReader()):
        model.fit_batch(x)
        step, samples = step + 1, samples + len(x)
        if step % 50 == 0:
            print(f"Train Epoch: 1 [{samples}]\tLoss: {gpu.item():.6f}", flush=True)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
