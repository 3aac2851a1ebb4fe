"""A vocoder learns to make speech of mel spectrograms, from pieces cut out of longer recordings."""

# https://github.com/descriptinc/melgan-neurips/issues/19
# Cause: each access reads and resamples a whole recording to cut a short piece out of it.
# Fix: cache what is loaded (librosa's cache, or the waves in memory): about twice as fast.
# Line: 46 and 47, read and resample_poly in load_wav.

import os
import tempfile

import numpy
import torch
from common import FIX, done, over
from scipy.io import wavfile
from scipy.signal import resample_poly
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

RATE, SOURCE, SEGMENT = 22_050, 44_100, 8192


def make_recordings(folder, count=80):
    draw = numpy.random.default_rng(0)
    for i in range(count):
        seconds = 5 + i % 6
        wave = numpy.sin(numpy.arange(seconds * SOURCE) * 0.03) * 9000 + draw.normal(0, 200, seconds * SOURCE)
        wavfile.write(os.path.join(folder, f"{i}.wav"), SOURCE, wave.astype(numpy.int16))


class AudioDataset(Dataset):
    def __init__(self, folder, repeat=40):
        self.files = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
        self.repeat, self.cache = repeat, {}

    def __len__(self):
        return len(self.files) * self.repeat

    def __getitem__(self, i):
        wave = self.load_wav(self.files[i % len(self.files)])
        start = int(torch.randint(len(wave) - SEGMENT, ()))
        return torch.from_numpy(wave[start : start + SEGMENT])

    def load_wav(self, path):
        if path in self.cache:
            return self.cache[path]
        rate, wave = wavfile.read(path)
        wave = resample_poly(wave.astype(numpy.float32) / 32768, RATE, rate).astype(numpy.float32)
        if FIX:
            self.cache[path] = wave
        return wave


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        make_recordings(folder)
        loader = DataLoader(AudioDataset(folder), 16, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
        while not over():
            for waves in loader:
                gpu.copy(waves.nbytes, pinned=True, non_blocking=True)
                gpu.launch(0.012, "mel, generator")
                gpu.launch(0.022, "discriminators")
                gpu.launch(0.03, "backward, adam")
                step, samples = step + 1, samples + len(waves)
                if step % 25 == 0:
                    print(f"step {step}: mel error {gpu.item():.3f}", flush=True)
                if over():
                    break
        done(gpu, samples)


if __name__ == "__main__":
    main()
