"""Shapes are learned from what is around them: an example is a few depth pictures and two sets of points."""

# https://github.com/google/ldif/issues/4

import os
import tempfile
import time

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

SHAPES, VIEWS, SIDE, POINTS, BATCH, OPEN = 40, 10, 48, 2000, 4, 0.0018


def make_dataset(root):
    """A folder for each shape, with a file for each view and each set of points; and all of it in one file too."""
    draw, whole = numpy.random.default_rng(0), []
    for shape in range(SHAPES):
        folder = os.path.join(root, f"{shape:04d}")
        os.mkdir(folder)
        parts = [draw.random((SIDE, SIDE), dtype=numpy.float32) for _ in range(VIEWS)]
        parts += [draw.random((POINTS, 4), dtype=numpy.float32) for _ in range(2)]
        for number, part in enumerate(parts):
            numpy.save(os.path.join(folder, f"{number:02d}.npy"), part)
        whole.append(numpy.concatenate([part.ravel() for part in parts]))
    numpy.save(os.path.join(root, "optimized.npy"), numpy.stack(whole))


class Examples(Dataset):
    """On the cluster's disk it takes a while to open a file."""

    def __init__(self, root, count=50_000):
        self.root, self.count = root, count

    def __len__(self):
        return self.count

    def load(self, path):
        time.sleep(OPEN)
        return numpy.load(path)

    def __getitem__(self, i):
        folder = os.path.join(self.root, f"{i % SHAPES:04d}")
        parts = [self.load(os.path.join(folder, name)).ravel() for name in sorted(os.listdir(folder))]
        return torch.from_numpy(numpy.concatenate(parts))


class OptimizedExamples(Examples):
    def __init__(self, root):
        super().__init__(root)
        time.sleep(OPEN)
        self.whole = numpy.load(os.path.join(root, "optimized.npy"), mmap_mode="r")

    def __getitem__(self, i):
        return torch.from_numpy(self.whole[i % SHAPES].copy())


class StructuredImplicitNetwork:
    def __init__(self, gpu):
        self.gpu = gpu

    def train_step(self, batch):
        self.gpu.copy(batch.nbytes)
        self.gpu.launch(0.0105, "encoder, implicit functions")
        self.gpu.launch(0.0222, "losses, backward, adam")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=11 << 30), 0, 0
    model = StructuredImplicitNetwork(gpu)
    with tempfile.TemporaryDirectory() as root:
        make_dataset(root)
        dataset = (OptimizedExamples if FIX else Examples)(root)
        loader = DataLoader(dataset, BATCH, shuffle=True, num_workers=1, persistent_workers=True)
        while not over():
            for batch in loader:
                model.train_step(batch)
                step, samples = step + 1, samples + len(batch)
                if step % 50 == 0:
                    print(f"Step {step}: The loss is {gpu.item():.5f}", flush=True)
                if over():
                    break
        done(gpu, samples)


if __name__ == "__main__":
    main()
