"""Factors that make a picture are to be told apart; all pictures of them lie in one big file."""

# https://github.com/nmichlo/disent/issues/49

import os
import tempfile
import zlib

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

COUNT, SHAPE, BATCH = 4096, (64, 64, 3), 32
CHUNK = 1 if FIX else 16


class H5File:
    """An array of pictures in compressed chunks, and where each chunk begins."""

    def __init__(self, folder):
        self.path, self.offsets = os.path.join(folder, "3dshapes.h5"), [0]
        draw = numpy.random.default_rng(0)
        base = numpy.add.outer(numpy.arange(64), numpy.arange(64))[:, :, None] + numpy.arange(3)
        with open(self.path, "wb") as file:
            for first in range(0, COUNT, CHUNK):
                pictures = (base + draw.integers(0, 60, (CHUNK, 1, 1, 3)) + draw.integers(0, 4, (CHUNK, *SHAPE))) % 256
                self.offsets.append(self.offsets[-1] + file.write(zlib.compress(pictures.astype(numpy.uint8), 4)))

    def __getitem__(self, i):
        chunk, row = divmod(i, CHUNK)
        with open(self.path, "rb") as file:
            file.seek(self.offsets[chunk])
            data = zlib.decompress(file.read(self.offsets[chunk + 1] - self.offsets[chunk]))
        return numpy.frombuffer(data, numpy.uint8).reshape(-1, *SHAPE)[row]


class Shapes3dData(Dataset):
    def __init__(self, folder):
        self.data = H5File(folder)

    def __len__(self):
        return COUNT

    def __getitem__(self, i):
        picture = self.data[i].astype(numpy.float32) / 255
        return torch.from_numpy(picture).permute(2, 0, 1)


class BetaVae:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, x):
        self.gpu.copy(x.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.0018, "encoder")
        self.gpu.launch(0.0021, "decoder, loss")
        self.gpu.launch(0.0068, "backward, adam")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    framework = BetaVae(gpu)
    with tempfile.TemporaryDirectory() as folder:
        data = Shapes3dData(folder)
        loader = DataLoader(data, BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
        while not over():
            for x in loader:
                framework.step(x)
                step, samples = step + 1, samples + len(x)
                if step % 50 == 0:
                    print(f"step {step} loss={gpu.item():.3f} kl_loss=0.000", flush=True)
                if over():
                    break
    done(gpu, samples)


if __name__ == "__main__":
    main()
