"""Gamma rays or protons? Pictures that an array of telescopes took of showers."""

import io
import os
import tempfile
import zipfile

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

TELESCOPES = 4


def write_run(path, events, seed):
    """A run: one table of the array and a picture for each event and telescope."""
    draw = numpy.random.default_rng(seed)
    with zipfile.ZipFile(path, "w") as file:
        for n in range(events):
            for t in range(TELESCOPES):
                buffer = io.BytesIO()
                numpy.save(buffer, draw.poisson(3, (54, 54)).astype(numpy.uint16))
                file.writestr(f"event{n:06d}/telescope{t}.npy", buffer.getvalue())


class Dl1Runs(Dataset):
    def __init__(self, paths, events):
        self.paths, self.events, self.files = paths, events, {}

    def __len__(self):
        return len(self.paths) * self.events

    def open_file(self, path):
        return zipfile.ZipFile(path)

    def close_file(self, file):
        file.close()

    def load_picture(self, file, name):
        return numpy.load(io.BytesIO(file.read(name)))

    def __getitem__(self, i):
        path, event = self.paths[i // self.events], i % self.events
        if FIX:
            if path not in self.files:
                self.files[path] = self.open_file(path)
            file = self.files[path]
        else:
            file = self.open_file(path)
        pictures = [self.load_picture(file, f"event{event:06d}/telescope{t}.npy") for t in range(TELESCOPES)]
        if not FIX:
            self.close_file(file)
        return torch.from_numpy(numpy.stack(pictures).astype(numpy.float32)), i % 2


class VariableInputModel:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, pictures, labels):
        self.gpu.copy(pictures.nbytes + labels.nbytes, pinned=True, non_blocking=True)
        for t in range(TELESCOPES):
            self.gpu.launch(0.005, f"convolutions of telescope {t}")
        self.gpu.launch(0.045, "combine, loss, backward, adam")


def train(gpu, loader):
    model, samples, epoch = VariableInputModel(gpu), 0, 0
    while not over():
        for step, (pictures, labels) in enumerate(loader):
            model.step(pictures, labels)
            samples += len(labels)
            if step % 20 == 0:
                print(f"epoch {epoch}, step {step}: loss {gpu.item():.3f}", flush=True)
            if over():
                break
        epoch += 1
    return samples


def main():
    torch.set_num_threads(1)
    gpu, events = Device(spin=False), 400
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, f"run{n}.h5") for n in range(4)]
        for seed, path in enumerate(paths):
            write_run(path, events, seed)
        data = Dl1Runs(paths, events)
        done(gpu, train(gpu, DataLoader(data, 32, shuffle=True, num_workers=2, pin_memory=True, persistent_workers=True)))


if __name__ == "__main__":
    main()
