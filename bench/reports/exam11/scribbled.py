"""A recurrent language model is trained on long texts, whose tokens are in one file."""

# https://github.com/RWKV/RWKV-infctx-trainer/pull/17

import os
import tempfile

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

CONTEXT, BATCH, TOKENS = 4096, 4, 4_000_000


class Tokens(Dataset):
    def __init__(self, path):
        self.path, self.data = path, None

    def __len__(self):
        return TOKENS // CONTEXT - 1

    def __getitem__(self, i):
        if self.data is None:
            self.data = numpy.memmap(self.path, numpy.uint16, "r")
        ids = self.data[i * CONTEXT : (i + 1) * CONTEXT + 1].astype(numpy.int64)
        return torch.from_numpy(ids)


class RWKV:
    def __init__(self, gpu):
        self.gpu = gpu

    def training_step(self, ids):
        self.gpu.copy(ids.nbytes, pinned=True, non_blocking=True)
        for segment in range(4):
            for block in range(12):
                self.gpu.launch(0.0021, f"time mix, channel mix {block}")
            self.gpu.launch(0.052, f"loss, backward of segment {segment}")
        self.gpu.launch(0.011, "adam")


def train(path):
    gpu, samples, step = Device(spin=False, memory_used=38 << 30), 0, 0
    model = RWKV(gpu)
    workers = 1 if FIX else min(os.cpu_count(), 2)
    loader = DataLoader(Tokens(path), BATCH, shuffle=True, num_workers=workers, pin_memory=True, persistent_workers=True)
    while not over():
        for ids in loader:
            model.training_step(ids)
            step, samples = step + 1, samples + len(ids)
            if step % 5 == 0:
                print(f"Epoch 0: step {step}, train/loss={gpu.item():.3f}", flush=True)
            if over():
                break
    done(gpu, samples)


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        numpy.random.default_rng(0).integers(0, 50277, TOKENS).astype(numpy.uint16).tofile(f"{folder}/text_document.bin")
        train(f"{folder}/text_document.bin")


if __name__ == "__main__":
    main()
