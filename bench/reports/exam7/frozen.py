"""Shards of pictures with words are mixed by workers that keep an index, and collect their garbage by a plan."""

# https://github.com/NVIDIA/Megatron-Energon/pull/40
# Cause: the workers call gc.collect() for each batch, and each walks over all of the index, which never dies.
# Fix: gc.freeze() before the first sample: some tests ran 5 times as fast.
# Line: 51, gc.collect() in GcDataset.__iter__.

import gc
import random

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class ShardIndex:
    """Where each sample lies: offsets and parts of tar files."""

    def __init__(self, shards=60, per_shard=330):
        self.shards = [
            [{"key": f"{s:03}/{i}", "parts": {"jpg": (i * 4096, 3900), "txt": (i * 4096 + 3900, 180)}} for i in range(per_shard)]
            for s in range(shards)
        ]


class WebDataset(IterableDataset):
    def __init__(self, index):
        self.index = index

    def __iter__(self):
        draw = random.Random(get_worker_info().id)
        while True:
            shard = draw.choice(self.index.shards)
            sample = draw.choice(shard)
            picture, words = sample["parts"]["jpg"], sample["parts"]["txt"]
            yield torch.full((3, 96, 96), picture[0] % 255 / 255), torch.full((64,), words[0] % 30_000)


class GcDataset(IterableDataset):
    def __init__(self, dataset, every_n_iter=4, freeze=FIX):
        self.dataset, self.every_n_iter, self.freeze = dataset, every_n_iter, freeze

    def __iter__(self):
        gc.collect()
        gc.disable()
        if self.freeze:
            gc.freeze()
        for number, sample in enumerate(self.dataset):
            if number % self.every_n_iter == 0:
                gc.collect()
            yield sample


def get_loader(dataset, batch_size, workers):
    return DataLoader(GcDataset(dataset), batch_size, num_workers=workers, pin_memory=True)


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    for pictures, words in get_loader(WebDataset(ShardIndex()), 4, workers=1):
        gpu.copy(pictures.nbytes + words.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.007, "vision tower, decoder")
        gpu.launch(0.014, "backward, distributed adam")
        step, samples = step + 1, samples + len(words)
        if step % 25 == 0:
            print(f" iteration {step:8d} | lm loss: {gpu.item():.6E}", flush=True)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
