"""A checkpoint after each short epoch takes longer than the epoch (deepchem/deepchem#458)."""

import os
import tempfile

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Molecules(Dataset):
    def __len__(self):
        return 1600

    def __getitem__(self, i):
        return torch.zeros(512)


class Model:
    def __init__(self, folder):
        self.gpu, self.folder, self.epoch = Device(), folder, 0
        self.state = {f"layer{n}": torch.zeros(1 << 20) for n in range(24)}
        self.samples = 0

    def fit(self, loader):
        for batch in loader:
            self.gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
            self.gpu.launch(0.012, "step")
            self.samples += len(batch)
            if over():
                break
        self.epoch += 1
        if not FIX or self.epoch % 10 == 0:
            self.save_checkpoint()

    def save_checkpoint(self):
        self.gpu.synchronize(spin=False)
        path = os.path.join(self.folder, "model.pt")
        torch.save(self.state, path)
        with open(path, "rb") as file:
            os.fsync(file.fileno())


def main():
    with tempfile.TemporaryDirectory() as folder:
        model = Model(folder)
        loader = DataLoader(Molecules(), batch_size=32, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
        while not over():
            model.fit(loader)
        done(model.gpu, model.samples)


if __name__ == "__main__":
    main()
