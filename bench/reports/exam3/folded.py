"""Each frame of a small data set is read from its files each time (torchmd/torchmd-net#235)."""

import glob
import os
import tempfile

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

FOLDER = os.path.join(tempfile.gettempdir(), "stoker-exam3-chignolin")


def make_files(count=20, frames=2000, atoms=10):
    os.makedirs(FOLDER, exist_ok=True)
    for n in range(count):
        for kind, shape in (("coords", (frames, atoms, 3)), ("forces", (frames, atoms, 3)), ("embed", (atoms,))):
            path = os.path.join(FOLDER, f"{kind}_{n:02d}.npy")
            if not os.path.exists(path):
                numpy.save(path, numpy.ones(shape, numpy.float32))


class Custom(Dataset):
    def __init__(self, coordglob, embedglob, forceglob):
        self.coordfiles, self.embedfiles, self.forcefiles = (sorted(glob.glob(g)) for g in (coordglob, embedglob, forceglob))
        self.index = []
        for i, path in enumerate(self.coordfiles):
            self.index.extend((i, j) for j in range(len(numpy.load(path, mmap_mode="r"))))
        self.stored = self.preload() if FIX else None

    def preload(self):
        return [
            [torch.from_numpy(numpy.load(path)) for path in paths]
            for paths in (self.coordfiles, self.embedfiles, self.forcefiles)
        ]

    def __len__(self):
        return len(self.index)

    def __getitem__(self, idx):
        fileid, index = self.index[idx]
        if self.stored:
            pos, z, neg_dy = (kind[fileid] for kind in self.stored)
            return pos[index], z, neg_dy[index]
        coord_data = numpy.array(numpy.load(self.coordfiles[fileid], mmap_mode="r")[index])
        embed_data = numpy.load(self.embedfiles[fileid])
        force_data = numpy.array(numpy.load(self.forcefiles[fileid], mmap_mode="r")[index])
        return torch.from_numpy(coord_data), torch.from_numpy(embed_data), torch.from_numpy(force_data)


def main():
    torch.set_num_threads(1)
    make_files()
    gpu, samples = Device(), 0
    data = Custom(*(os.path.join(FOLDER, f"{kind}_*.npy") for kind in ("coords", "embed", "forces")))
    loader = DataLoader(data, batch_size=256, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for parts in loader:
            gpu.copy(sum(part.nbytes for part in parts), pinned=True, non_blocking=True)
            gpu.launch(0.02, "energy, forces, backward")
            samples += len(parts[0])
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
