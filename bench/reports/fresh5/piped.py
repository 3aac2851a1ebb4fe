"""A program decodes each recording again in the workers (sigsep/open-unmix-pytorch#3)."""

import os
import subprocess
import sys
import tempfile

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

DECODE = "import sys,lzma;sys.stdout.buffer.write(lzma.open(sys.argv[1]).read())"


def load_stem(path):
    """What ffmpeg does: a process for each file."""
    done = subprocess.run([sys.executable, "-S", "-c", DECODE, path], stdout=subprocess.PIPE, check=True)
    return numpy.frombuffer(done.stdout, numpy.int16)


class Stems(Dataset):
    def __init__(self, folder):
        self.paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
        self.decoded = [load_stem(path) for path in self.paths] if FIX else None

    def __len__(self):
        return 400

    def __getitem__(self, i):
        audio = self.decoded[i % 40] if FIX else load_stem(self.paths[i % 40])
        start = numpy.random.randint(len(audio) - 4000)
        return torch.from_numpy(audio[start : start + 4000].astype(numpy.float32))


def write_stems(folder):
    import lzma

    for n in range(40):
        with lzma.open(os.path.join(folder, f"{n}.stem"), "w") as file:
            file.write(numpy.random.default_rng(n).integers(0, 50, 60_000, numpy.int16).tobytes())


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    with tempfile.TemporaryDirectory() as folder:
        write_stems(folder)
        loader = DataLoader(Stems(folder), batch_size=8, shuffle=True, num_workers=1, persistent_workers=True)
        while not over():
            for audio in loader:
                gpu.copy(audio.nbytes)
                gpu.launch(0.02, "unmix, backward, adam")
                samples += len(audio)
                if over():
                    break
        done(gpu, samples)


if __name__ == "__main__":
    main()
