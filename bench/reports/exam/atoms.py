"""The list of neighbours of each atom is computed again in each epoch (atomistic-machine-learning/schnetpack#320, #313)."""

import os
import tempfile

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

FOLDER = os.path.join(tempfile.gettempdir(), "stoker-exam-ptcda")


class ASENeighborList:
    def __init__(self, cutoff):
        self.cutoff = cutoff

    def forward(self, positions, cell):
        idx_i, idx_j = [], []
        for shift in numpy.ndindex(3, 3, 3):
            moved = positions + (numpy.array(shift) - 1) * cell
            for i, position in enumerate(positions):
                distances = numpy.sqrt(((moved - position) ** 2).sum(1))
                near = numpy.flatnonzero((distances < self.cutoff) & (distances > 0))
                idx_i.append(numpy.full(len(near), i))
                idx_j.append(near)
        return numpy.concatenate(idx_i), numpy.concatenate(idx_j)


class CachingNeighborList:
    def __init__(self, folder, neighbor_list):
        self.folder, self.neighbor_list = folder, neighbor_list

    def forward(self, idx, positions, cell):
        path = os.path.join(self.folder, f"cache_{idx}.npz")
        try:
            with numpy.load(path) as saved:
                return saved["i"], saved["j"]
        except OSError:
            i, j = self.neighbor_list.forward(positions, cell)
            numpy.savez(path, i=i, j=j)
            return i, j


class Structures(Dataset):
    def __init__(self, count=60):
        self.positions = numpy.random.default_rng(0).random((count, 38, 3)) * 12
        self.neighbor_list = ASENeighborList(5.0)
        self.caching = CachingNeighborList(FOLDER, self.neighbor_list)

    def __len__(self):
        return len(self.positions)

    def __getitem__(self, idx):
        positions, cell = self.positions[idx], numpy.array([12.0, 12.0, 12.0])
        idx_i, _ = self.caching.forward(idx, positions, cell) if FIX else self.neighbor_list.forward(positions, cell)
        return torch.from_numpy(positions.astype(numpy.float32)), len(idx_i)


def main():
    torch.set_num_threads(1)
    os.makedirs(FOLDER, exist_ok=True)
    gpu, samples = Device(), 0
    loader = DataLoader(Structures(), batch_size=4, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for positions, _ in loader:
            gpu.copy(positions.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.015, "step")
            samples += len(positions)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
