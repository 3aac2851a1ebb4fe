"""A diffusion model learns one illustrator's style; latents and words were encoded once and are in a cache on disk."""

# https://github.com/Nerogar/OneTrainer/pull/1461
# Cause: a batch is read from the cache when the last one has been trained on, and the cache is on a hard disk.
# Fix: read the next batch while this one is trained on (batch prefetching).
# Line: 73, next_batch in the loop (each file is read at 32, and the disk's arm moves at 31).

import concurrent.futures
import os
import random
import tempfile
import time

import torch
from common import FIX, done, over
from stoker.emulated import Device

BATCH, COUNT = 4, 200


class HardDisk:
    """7200 turns a minute: a file elsewhere is 8 ms to seek and 4 ms to come round."""

    def __init__(self, folder):
        self.folder = folder

    def save(self, name, tensor):
        torch.save(tensor, os.path.join(self.folder, name))

    def load(self, name):
        time.sleep(0.012)
        return torch.load(os.path.join(self.folder, name), weights_only=True)


class DiskCache:
    def __init__(self, disk):
        self.disk = disk
        for i in range(COUNT):
            disk.save(f"latent_{i}.pt", torch.randn(4, 64, 64))
            disk.save(f"text_{i}.pt", torch.randn(77, 768, dtype=torch.float16))

    def get_item(self, i):
        return self.disk.load(f"latent_{i}.pt"), self.disk.load(f"text_{i}.pt")


class MGDS:
    """The pipeline of data: batches of an epoch in a random order."""

    def __init__(self, cache):
        self.cache, self.order = cache, []

    def next_batch(self):
        if len(self.order) < BATCH:
            self.order = random.sample(range(COUNT), COUNT)
        chosen, self.order = self.order[:BATCH], self.order[BATCH:]
        latents, texts = zip(*(self.cache.get_item(i) for i in chosen), strict=True)
        return torch.stack(latents), torch.stack(texts)


class Prefetching:
    def __init__(self, data):
        self.data, self.pool = data, concurrent.futures.ThreadPoolExecutor(1)
        self.future = self.pool.submit(data.next_batch)

    def next_batch(self):
        batch, self.future = self.future.result(), self.pool.submit(self.data.next_batch)
        return batch


def train(gpu, data):
    samples, step = 0, 0
    while not over():
        latents, texts = data.next_batch()
        gpu.copy(latents.nbytes + texts.nbytes)
        gpu.launch(0.029, "unet")
        gpu.launch(0.056, "backward of lora")
        gpu.launch(0.004, "adamw")
        loss, step, samples = gpu.item(), step + 1, samples + len(latents)
        if step % 20 == 0:
            print(f"step: {step} loss={loss:.3f} smooth loss={loss:.3f}", flush=True)
    return samples


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False, memory_used=11 << 30)
    with tempfile.TemporaryDirectory() as folder:
        data = MGDS(DiskCache(HardDisk(folder)))
        if FIX:
            data = Prefetching(data)
        done(gpu, train(gpu, data))
        if FIX:
            data.pool.shutdown()


if __name__ == "__main__":
    main()
