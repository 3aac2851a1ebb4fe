"""A shuffle buffer is filled again before the first batch of each epoch (activeloopai/deeplake#1760)."""

import random

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, IterableDataset


def read_sample(n):
    """Unpack a sample of the stream."""
    value = n
    for _ in range(3000):
        value = value * 1103515245 + 12345 & 0x7FFFFFFF
    return torch.full((64,), float(value))


class Stream(IterableDataset):
    def __init__(self, samples, buffer_size):
        self.samples, self.buffer_size = samples, buffer_size

    def __iter__(self):
        buffer = []
        for n in range(self.samples):
            sample = read_sample(n)
            if len(buffer) < self.buffer_size:
                buffer.append(sample)
                continue
            place = random.randrange(self.buffer_size)
            yield buffer[place]
            buffer[place] = sample
        random.shuffle(buffer)
        yield from buffer


def main():
    gpu, samples = Device(), 0
    loader = DataLoader(Stream(8000, 200 if FIX else 7000), batch_size=32, num_workers=1, pin_memory=True)
    while not over():
        for batch in loader:
            gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.012, "step")
            samples += len(batch)
            if over():
                break
        gpu.synchronize(spin=False)
    done(gpu, samples)


if __name__ == "__main__":
    main()
