"""A small BERT learns whether reviews are good. They were tokenized beforehand, and are in columns on disk."""

# https://github.com/huggingface/datasets/issues/708
# Cause: each item of the columns becomes lists of Python numbers and then tensors: 6.4 times as slow as data in memory.
# Fix: make tensors of all items once and give the loader a list of them: 77 s became 12.5 s.
# Line: 61, self.format.row in ArrowDataset.__getitem__ (the work is at 39 to 46).

import os
import tempfile

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

COLUMNS, LENGTH, BATCH = ("input_ids", "token_type_ids", "attention_mask"), 512, 32


class ArrowColumn:
    """Numbers of one type, one after the other, mapped from a file."""

    def __init__(self, path):
        self.buffer = numpy.load(path, mmap_mode="r")

    def slice(self, i):
        return self.buffer[i * LENGTH : (i + 1) * LENGTH]

    def to_pylist(self, i):
        return self.slice(i).tolist()


class TorchFormatter:
    """Python objects of a row, made tensors recursively."""

    def __init__(self, columns):
        self.columns = columns

    def _tensorize(self, value):
        if isinstance(value, list) and value and isinstance(value[0], list):
            return torch.stack([self._tensorize(part) for part in value])
        return torch.tensor(value, dtype=torch.int64)

    def row(self, i):
        objects = {name: column.to_pylist(i) for name, column in self.columns.items()}
        return {name: self._tensorize(value) for name, value in objects.items()}


class ArrowDataset(Dataset):
    def __init__(self, columns, count):
        self.columns, self.count, self.format = columns, count, None

    def set_format(self, type):
        assert type == "torch"
        self.format = TorchFormatter(self.columns)

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.format.row(i)


def tokenize_reviews(folder, count=3000):
    draw = numpy.random.default_rng(0)
    lengths = draw.integers(60, LENGTH, count)
    mask = (numpy.arange(LENGTH) < lengths[:, None]).astype(numpy.int64)
    values = {"input_ids": draw.integers(999, 30_522, mask.shape) * mask, "token_type_ids": mask * 0, "attention_mask": mask}
    for name in COLUMNS:
        numpy.save(os.path.join(folder, f"{name}.npy"), values[name].ravel())
    return ArrowDataset({name: ArrowColumn(os.path.join(folder, f"{name}.npy")) for name in COLUMNS}, count)


def train(gpu, loader):
    samples, step = 0, 0
    while not over():
        for batch in loader:
            for name in COLUMNS:
                gpu.copy(batch[name].nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.0005, "bert tiny")
            gpu.launch(0.0012, "backward, adamw")
            step, samples = step + 1, samples + len(batch["input_ids"])
            if step % 100 == 0:
                print(f"step {step}: loss {gpu.item():.4f}", flush=True)
            if over():
                break
    return samples


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    with tempfile.TemporaryDirectory() as folder:
        dataset = tokenize_reviews(folder)
        dataset.set_format("torch")
        if FIX:
            dataset = [dataset[i] for i in range(len(dataset))]
        loader = DataLoader(dataset, BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
        done(gpu, train(gpu, loader))


if __name__ == "__main__":
    main()
