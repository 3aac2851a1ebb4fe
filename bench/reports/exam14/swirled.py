"""How a fluid flows on is predicted; snapshots are cut from files of whole simulations."""

# https://github.com/PolymathicAI/the_well/issues/51

import os
import tempfile

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

FILES, STEPS, FIELDS, SIDE, BATCH, HISTORY = 6, 60, 4, 64, 8, 5


def simulate(folder):
    draw, names = numpy.random.default_rng(0), []
    for number in range(FILES):
        names.append(os.path.join(folder, f"shear_flow_{number}.npy"))
        numpy.save(names[-1], draw.random((STEPS, FIELDS, SIDE, SIDE), dtype=numpy.float32))
    return names


class WellDataset(Dataset):
    """A few snapshots, and the one that follows; a file is opened for each window."""

    def __init__(self, names):
        self.names, self.windows, self.opened = names, STEPS - HISTORY, {}

    def __len__(self):
        return 100 * self.windows * len(self.names)

    def open(self, name):
        if not FIX:
            return numpy.load(name, mmap_mode="r")
        if name not in self.opened:
            self.opened[name] = numpy.load(name, mmap_mode="r")
        return self.opened[name]

    def __getitem__(self, i):
        fields = self.open(self.names[i // self.windows % len(self.names)])
        start = i % self.windows
        return torch.from_numpy(numpy.array(fields[start : start + HISTORY]))


class FNO:
    def __init__(self, gpu):
        self.gpu = gpu

    def train_step(self, window):
        self.gpu.copy(window.nbytes)
        for layer in range(4):
            self.gpu.launch(0.0068, f"spectral convolution {layer}")
        self.gpu.launch(0.061, "vrmse, backward, adamw")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=21 << 30), 0, 0
    model = FNO(gpu)
    with tempfile.TemporaryDirectory() as folder:
        loader = DataLoader(WellDataset(simulate(folder)), BATCH, shuffle=True, num_workers=1, persistent_workers=True)
        while not over():
            for window in loader:
                model.train_step(window)
                step, samples = step + 1, samples + len(window)
                if step % 20 == 0:
                    print(f"Epoch 1, Batch {step}: loss {gpu.item():.5f}", flush=True)
                if over():
                    break
        done(gpu, samples)


if __name__ == "__main__":
    main()
