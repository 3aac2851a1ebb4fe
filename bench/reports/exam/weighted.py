"""Samples are drawn by weight without replacement, one after the other, before each epoch (pytorch/pytorch#32221)."""

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset, Sampler


class Images(Dataset):
    def __len__(self):
        return 120_000

    def __getitem__(self, i):
        return torch.zeros(3, 32, 32)


def multinomial(weights, num_samples):
    """As torch.multinomial(replacement=False) did until 1.7: a pass over all weights for each sample."""
    left, chosen = weights.copy(), []
    for _ in range(num_samples):
        sums = left.cumsum()
        place = int(numpy.searchsorted(sums, numpy.random.random() * sums[-1]))
        chosen.append(place)
        left[place] = 0
    return chosen


def multinomial_by_race(weights, num_samples):
    keys = numpy.random.exponential(size=len(weights)) / weights
    return numpy.argpartition(keys, num_samples)[:num_samples].tolist()


class WeightedRandomSampler(Sampler):
    def __init__(self, weights, num_samples):
        self.weights, self.num_samples = numpy.asarray(weights, numpy.float64), num_samples

    def __len__(self):
        return self.num_samples

    def __iter__(self):
        draw = multinomial_by_race if FIX else multinomial
        return iter(draw(self.weights, self.num_samples))


def main():
    gpu, samples = Device(), 0
    sampler = WeightedRandomSampler([0.1, 0.9, 0.4, 0.7, 3.0, 0.6] * 20_000, 1600)
    loader = DataLoader(Images(), batch_size=32, sampler=sampler, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for batch in loader:
            gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.015, "step")
            samples += len(batch)
            if over():
                break
        gpu.synchronize(spin=False)
    done(gpu, samples)


if __name__ == "__main__":
    main()
