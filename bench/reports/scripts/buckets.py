"""A batch sampler that opens every recording at each epoch to sort by length (SeanNaren/deepspeech.pytorch#143)."""

import os
import random
import tempfile
import wave

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

FOLDER = os.path.join(tempfile.gettempdir(), "stoker-reports-wav")


def make_manifest(count=400):
    os.makedirs(FOLDER, exist_ok=True)
    paths = [os.path.join(FOLDER, f"{n:04d}.wav") for n in range(count)]
    for n, path in enumerate(paths):
        if not os.path.exists(path):
            with wave.open(path, "wb") as file:
                file.setnchannels(1)
                file.setsampwidth(2)
                file.setframerate(16000)
                file.writeframes(bytes(200 + 20 * (n % 97)))
    return paths * 40  # utterances


def length_of(path):
    with wave.open(path) as file:
        return file.getnframes()


class Buckets:
    def __init__(self, paths, batch):
        self.paths, self.batch = paths, batch
        self.lengths = [length_of(p) for p in paths] if FIX else None

    def __len__(self):
        return len(self.paths) // self.batch

    def __iter__(self):
        lengths = self.lengths or [length_of(p) for p in self.paths]
        order = sorted(range(len(lengths)), key=lengths.__getitem__)
        batches = [order[i : i + self.batch] for i in range(0, len(order), self.batch)]
        random.shuffle(batches)
        return iter(batches)


class Utterances(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        return torch.zeros(80, 20)


def main():
    gpu, paths = Device(), make_manifest()
    loader = DataLoader(Utterances(paths), batch_sampler=Buckets(paths, 128), num_workers=1, pin_memory=True, persistent_workers=True)
    samples = 0
    while not over():
        for batch in loader:
            gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.012, "step")
            samples += len(batch)
            if over():
                break
        gpu.synchronize(spin=False)
    done(gpu, samples)


if __name__ == "__main__":
    main()
