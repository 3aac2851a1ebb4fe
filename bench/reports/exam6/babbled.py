"""A small GPT on a large text: five small batches to a step, drawn from a file by their place."""

# https://github.com/karpathy/nanoGPT/issues/110
# Cause: none: GPUs at 100 %, 560 ms a step, of which five are accumulated: "looks pretty good to me". Healthy.
# Fix: nothing to change (--fix pins the batches, which gains nothing).
# Line: none.

import os
import tempfile

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

ACCUMULATE, BATCH, BLOCK = 5, 12, 1024


def get_batch(data):
    ix = torch.randint(len(data) - BLOCK, (BATCH,))
    x = torch.stack([torch.from_numpy(data[i : i + BLOCK].astype(numpy.int64)) for i in ix.tolist()])
    y = torch.stack([torch.from_numpy(data[i + 1 : i + 1 + BLOCK].astype(numpy.int64)) for i in ix.tolist()])
    return x, y


def to_device(gpu, x, y):
    gpu.copy(x.nbytes + y.nbytes, pinned=True, non_blocking=True)


def train(gpu, data):
    samples = iteration = 0
    x, y = get_batch(data)
    to_device(gpu, x, y)
    while not over():
        for _ in range(ACCUMULATE):
            for layer in range(12):
                gpu.launch(0.0029, f"layer {layer}")
            x, y = get_batch(data)  # the next one, while the GPU is at work
            gpu.launch(0.075, "backward")
            to_device(gpu, x, y)
            samples += len(x)
        gpu.launch(0.008, "clip, fused adamw")
        print(f"iter {iteration}: loss {gpu.item():.4f}", flush=True)
        iteration += 1
    return samples


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False, memory_used=38 << 30)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "train.bin")
        numpy.random.default_rng(0).integers(0, 50_257, 20_000_000, dtype=numpy.uint16).tofile(path)
        done(gpu, train(gpu, numpy.memmap(path, numpy.uint16, "r")))


if __name__ == "__main__":
    _ = FIX
    main()
