"""Captions of pictures, from grid features that were taken before."""

import os
import tempfile
import zlib

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

SHAPE = (49, 512)


class FeatureFile:
    """One file of all features, in compressed chunks of some pictures each."""

    def __init__(self, path, chunk=24):
        self.path, self.chunk, self.index, self.file = path, chunk, [], None

    def write(self, features):
        with open(self.path, "wb") as file:
            for start in range(0, len(features), self.chunk):
                data = zlib.compress(features[start : start + self.chunk].tobytes(), 1)
                self.index.append((file.tell(), len(data)))
                file.write(data)

    def __getitem__(self, i):
        if self.file is None:
            self.file = open(self.path, "rb")
        offset, size = self.index[i // self.chunk]
        self.file.seek(offset)
        block = numpy.frombuffer(zlib.decompress(self.file.read(size)), numpy.float32).reshape(-1, *SHAPE)
        return block[i % self.chunk].copy()


class FeatureFolder:
    """A file for each picture."""

    def __init__(self, folder):
        self.folder = folder

    def write(self, features):
        for n, feature in enumerate(features):
            numpy.save(os.path.join(self.folder, f"{n:06d}.npy"), feature)

    def __getitem__(self, i):
        return numpy.load(os.path.join(self.folder, f"{i:06d}.npy"))


class COCOCaptions(Dataset):
    def __init__(self, grid, count):
        self.grid, self.count = grid, count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return torch.from_numpy(self.grid[i]), torch.zeros(20, dtype=torch.long)


class Transformer:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, grids, captions):
        self.gpu.copy(grids.nbytes + captions.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.013, "encoder, decoder")
        self.gpu.launch(0.027, "loss, backward, adam")


def train(gpu, loader):
    model, samples, epoch = Transformer(gpu), 0, 0
    while not over():
        for it, (grids, captions) in enumerate(loader):
            model.step(grids, captions)
            samples += len(grids)
            if it % 10 == 0:
                print(f"epoch {epoch}, {it}: loss {gpu.item():.3f}", flush=True)
            if over():
                break
        epoch += 1
    return samples


def extract(count=1200):
    """Features after an activation: half of them are zero."""
    draw = numpy.random.default_rng(0)
    features = draw.standard_normal((count, *SHAPE), dtype=numpy.float32)
    return numpy.maximum(features, 0, out=features).astype(numpy.float16).astype(numpy.float32)


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    with tempfile.TemporaryDirectory() as folder:
        features = extract()
        grid = FeatureFolder(folder) if FIX else FeatureFile(os.path.join(folder, "all_splits.bin"))
        grid.write(features)
        data = COCOCaptions(grid, len(features))
        del features
        samples = train(gpu, DataLoader(data, 16, shuffle=True, num_workers=2, pin_memory=True, persistent_workers=True))
        done(gpu, samples)


if __name__ == "__main__":
    main()
