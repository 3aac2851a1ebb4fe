"""A whole recording is loaded and resampled for a clip of two seconds (kitzeslab/opensoundscape#423, #403)."""

import os
import tempfile
import wave

import numpy
import torch
from common import FIX, done, over
from scipy.signal import resample_poly
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

FOLDER = os.path.join(tempfile.gettempdir(), "stoker-exam-birds")
RATE, SECONDS, CLIP = 32_000, 60, 2


def make_recordings(count=6):
    os.makedirs(FOLDER, exist_ok=True)
    noise = numpy.random.default_rng(0).integers(-9000, 9000, RATE * SECONDS, numpy.int16)
    paths = [os.path.join(FOLDER, f"{n:02d}.wav") for n in range(count)]
    for path in paths:
        if not os.path.exists(path):
            with wave.open(path, "wb") as file:
                file.setparams((1, 2, RATE, 0, "NONE", ""))
                file.writeframes(noise.tobytes())
    return paths


def from_file(path, offset=0.0, duration=None):
    with wave.open(path) as file:
        file.setpos(int(offset * RATE))
        frames = file.readframes(int(duration * RATE) if duration else file.getnframes())
    return resample_poly(numpy.frombuffer(frames, numpy.int16).astype(numpy.float32) / 32768, 1, 2)


class Clips(Dataset):
    def __init__(self, paths):
        self.clips = [(path, start) for path in paths for start in range(0, SECONDS, CLIP)] * 100

    def __len__(self):
        return len(self.clips)

    def __getitem__(self, i):
        path, start = self.clips[i]
        if FIX:
            return torch.from_numpy(from_file(path, start, CLIP))
        audio = from_file(path)
        return torch.from_numpy(audio[start * RATE // 2 : (start + CLIP) * RATE // 2].copy())


def main():
    gpu, samples = Device(), 0
    loader = DataLoader(Clips(make_recordings()), batch_size=4, shuffle=True, num_workers=1, pin_memory=True)
    for batch in loader:
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.03, "step")
        samples += len(batch)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
