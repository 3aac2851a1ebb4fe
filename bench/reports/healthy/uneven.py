"""Samples of uneven cost and a collate_fn that pads, ready in time all the same."""

import random
import time

import torch
from common import done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Sentences(Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, i):
        time.sleep(random.expovariate(1 / 0.002))
        return torch.zeros(random.randint(8, 64), dtype=torch.long)


def pad(samples):
    return torch.nn.utils.rnn.pad_sequence(samples, batch_first=True)


def main():
    gpu, samples = Device(), 0
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(8))], lr=0.1)
    for x in DataLoader(Sentences(), batch_size=16, num_workers=3, pin_memory=True, collate_fn=pad):
        gpu.copy(x.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.06, "forward, backward")
        optimizer.step()
        samples += len(x)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
