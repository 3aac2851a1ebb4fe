"""Questions about a picture, each with a hundred answers to rank; the cache of the allocator is kept empty."""

# https://github.com/batra-mlp-lab/visdial-challenge-starter-pytorch/pull/34
# Cause: the loop empties the allocator's cache after each batch: all blocks are freed, and asked for again.
# Fix: empty it once an epoch instead.
# Line: 81, cuda.empty_cache() in main (the waits are at 24 and 31).

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

ROUNDS, OPTIONS, WORDS = 10, 100, 20


class CachingAllocator:
    """Blocks go back to the driver only by empty_cache; both that and a new block wait for the device."""

    def __init__(self, gpu):
        self.gpu, self.free, self.used = gpu, [], []

    def malloc(self, size):
        if not self.free:
            self.gpu.synchronize()
            self.free.append(torch.zeros(size, dtype=torch.uint8))
        block = self.free.pop()
        self.used.append(block)
        return block

    def empty_cache(self):
        self.gpu.synchronize()
        self.free.clear()

    def release(self):
        self.free += self.used
        self.used.clear()


class Dialogs(Dataset):
    def __len__(self):
        return 1600

    def __getitem__(self, i):
        return {"img_feat": torch.full((36, 512), i / 1600), "opt": torch.full((ROUNDS, OPTIONS, WORDS), i % 11_000)}


class LateFusion:
    def __init__(self, gpu, cuda):
        self.gpu, self.cuda = gpu, cuda

    def __call__(self, batch):
        for name in batch:
            self.cuda.malloc(1 << 21)
            self.gpu.copy(batch[name].nbytes, pinned=True, non_blocking=True)
        for layer in range(18):
            self.cuda.malloc(1 << 21)
            self.gpu.launch(0.0009, f"forward {layer}")

    def backward(self):
        for layer in range(18):
            self.cuda.malloc(1 << 21)
            self.gpu.launch(0.0016, f"backward {layer}")
        self.gpu.launch(0.002, "adam")


def main():
    torch.set_num_threads(1)
    gpu, samples, iteration = Device(spin=False), 0, 0
    cuda = CachingAllocator(gpu)
    model = LateFusion(gpu, cuda)
    loader = DataLoader(Dialogs(), 16, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for batch in loader:
            model(batch)
            model.backward()
            cuda.release()
            iteration, samples = iteration + 1, samples + len(batch["opt"])
            if iteration % 50 == 0:
                print(f"[{iteration}] loss {gpu.item():.4f}", flush=True)
            if not FIX:
                cuda.empty_cache()
            if over():
                break
        cuda.empty_cache()
    done(gpu, samples)


if __name__ == "__main__":
    main()
