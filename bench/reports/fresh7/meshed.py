"""Segments teeth on scans of jaws: each access samples a patch of a mesh of 10,000 cells."""

# https://github.com/Tai-Hsien/MeshSegNet/issues/14
# Cause: each access draws cells of a mesh again and measures all distances between them, on the CPU: an epoch of 100
#        meshes takes 3 to 4 hours, while the GPU does almost nothing.
# Fix: draw the parts and their matrices before training, and read them from files.
# Line: 42 to 58, drawn (distance_matrix at 51), called at 40.

import os
import tempfile

import numpy
import torch
from common import FIX, done, over
from scipy.spatial import distance_matrix
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Mesh_Dataset(Dataset):
    def __init__(self, folder, meshes=24, patch_size=900):
        self.folder, self.meshes, self.patch_size = folder, meshes, patch_size
        for number in range(meshes):
            cells = numpy.random.default_rng(number).random((2000, 15), dtype=numpy.float32)
            labels = (cells[:, 9] * 15).astype(numpy.int64)
            numpy.savez(self.path(number), cells=cells, labels=labels)
        if FIX:
            for number in range(meshes):
                torch.save(self.drawn(number), self.path(number, "pt"))

    def path(self, number, kind="npz"):
        return os.path.join(self.folder, f"A{number}_Sample.{kind}")

    def __len__(self):
        return self.meshes

    def __getitem__(self, i):
        if FIX:
            return torch.load(self.path(i, "pt"))
        return self.drawn(i)

    def drawn(self, number):
        with numpy.load(self.path(number)) as mesh:
            cells, labels = mesh["cells"], mesh["labels"]
        cells[:, 9:12] = (cells[:, 9:12] - cells[:, 9:12].mean(0)) / cells[:, 9:12].std(0)
        teeth, gums = numpy.flatnonzero(labels > 0), numpy.flatnonzero(labels == 0)
        share = int(len(teeth) / len(labels) * self.patch_size)
        rest = numpy.random.choice(gums, self.patch_size - share)
        chosen = numpy.concatenate([numpy.random.choice(teeth, share), rest])
        X, Y = cells[numpy.sort(chosen)], labels[numpy.sort(chosen)]
        D = distance_matrix(X[:, 9:12], X[:, 9:12])
        near = []
        for reach in (0.1, 0.2):
            S = numpy.zeros([self.patch_size, self.patch_size], dtype="float32")
            S[D < reach] = 1.0
            S = S / numpy.dot(numpy.sum(S, axis=1, keepdims=True), numpy.ones((1, self.patch_size)))
            near.append(torch.from_numpy(S.astype(numpy.float32)))
        return torch.from_numpy(X.T.copy()), torch.from_numpy(Y), *near


def main():
    torch.set_num_threads(1)
    gpu, samples, epoch = Device(spin=False), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        loader = DataLoader(Mesh_Dataset(folder), 3, shuffle=True, num_workers=0)
        while not over():
            for batch in loader:
                gpu.copy(sum(part.nbytes for part in batch))
                gpu.launch(0.006, "meshsegnet")
                gpu.launch(0.010, "backward, amsgrad")
                gpu.item()
                samples += len(batch[0])
                if over():
                    break
            epoch += 1
            print(f"epoch {epoch}: loss {gpu.item():.4f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
