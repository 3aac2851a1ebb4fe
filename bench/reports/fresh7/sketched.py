"""Things in three dimensions: before training begins, samples of the data set are drawn as pictures."""

# https://github.com/microsoft/TRELLIS.2/issues/87
# Cause: run() first loads and renders a hundred samples of the data set, only to show them.
# Fix: a smaller num_samples.
# Line: 75 to 79, snapshot_dataset (called at 83; its work is at 45 to 61).

import io
import os
import tempfile
import zlib

import numpy
import torch
from common import FIX, done, over
from PIL import Image
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

SIDE = 64


class SparseVoxels(Dataset):
    """Voxels that are taken, packed, one file to a thing; latents of them for training."""

    def __init__(self, folder, count=200):
        self.folder, self.count = folder, count
        shape = numpy.indices((SIDE, SIDE, SIDE)).reshape(3, -1).T - SIDE / 2
        for number in range(8):
            radius = 12 + 2 * number
            near = numpy.abs(numpy.linalg.norm(shape * (1, 1, 0.6 + number / 10), axis=1) - radius) < 1.5
            with open(os.path.join(folder, f"{number}.vxz"), "wb") as file:
                file.write(zlib.compress((shape[near] + SIDE / 2).astype(numpy.uint8).tobytes(), 6))

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return torch.full((8, 16, 16, 16), i / self.count)

    def voxels(self, i):
        with open(os.path.join(self.folder, f"{i % 8}.vxz"), "rb") as file:
            return numpy.frombuffer(zlib.decompress(file.read()), numpy.uint8).reshape(-1, 3)

    def visualize_sample(self, i, views=4, size=256):
        """Views of the voxels, the nearest in front."""
        sheet = Image.new("RGB", (size * views, size))
        points = self.voxels(i).astype(numpy.float32) / SIDE - 0.5
        for view in range(views):
            angle = numpy.pi / 2 * view + 0.4
            c, s = numpy.cos(angle), numpy.sin(angle)
            seen = points @ numpy.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
            seen = seen[numpy.argsort(-seen[:, 1])]
            picture = numpy.zeros((size, size, 3), dtype=numpy.uint8)
            places = ((seen[:, [2, 0]] * 0.6 + 0.5) * size).astype(int)
            for (row, column), depth in zip(places[::8], seen[::8, 1], strict=True):
                picture[row : row + 4, column : column + 4] = 128 - depth * 200
            sheet.paste(Image.fromarray(picture), (view * size, 0))
        with io.BytesIO() as file:
            sheet.save(file, "png")
            return file.getvalue()


class Trainer:
    def __init__(self, gpu, dataset, folder):
        self.gpu, self.dataset, self.folder = gpu, dataset, folder
        self.loader = DataLoader(dataset, 4, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)

    def run_step(self, latents):
        self.gpu.copy(latents.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.012, "sparse transformer")
        self.gpu.launch(0.024, "backward, adamw")
        return len(latents)

    def snapshot_dataset(self, num_samples):
        for number in range(num_samples):
            with open(os.path.join(self.folder, f"dataset {number}.png"), "wb") as file:
                file.write(self.dataset.visualize_sample(number))
        print(f"{num_samples} samples of the data set", flush=True)

    def run(self):
        over()
        self.snapshot_dataset(num_samples=4 if FIX else 100)
        samples = step = 0
        while not over():
            for latents in self.loader:
                samples, step = samples + self.run_step(latents), step + 1
                if step % 25 == 0:
                    print(f"step {step}: loss {self.gpu.item():.4f}", flush=True)
                if over():
                    break
        return samples


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    with tempfile.TemporaryDirectory() as folder:
        samples = Trainer(gpu, SparseVoxels(folder), folder).run()
    done(gpu, samples)


if __name__ == "__main__":
    main()
