"""A recurrent network transcribes speech. Each epoch ends with the word error rate."""

# https://github.com/mozilla/DeepSpeech/issues/1468

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

FRAMES, FEATURES, BATCH, TRAIN, DEV = 200, 26, 16, 640, 128
VALIDATION_STEP = 10 if FIX else 1
LETTERS = " abcdefghijklmnopqrstuvwxyz'"


class CommonVoice(Dataset):
    def __init__(self, count):
        draw = numpy.random.default_rng(count)
        self.features, self.count = torch.from_numpy(draw.normal(size=(FRAMES, FEATURES)).astype(numpy.float32)), count
        text = lambda: "".join(draw.choice(list(LETTERS), int(draw.integers(60, 110))))  # noqa: E731
        self.transcripts = [text() for _ in range(32)]

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.features, self.transcripts[i % 32]


def levenshtein(a, b):
    """Edits from one sequence to the other."""
    if len(a) > len(b):
        a, b = b, a
    current = list(range(len(a) + 1))
    for i in range(1, len(b) + 1):
        previous, current = current, [i] + [0] * len(a)
        for j in range(1, len(a) + 1):
            change = previous[j - 1] + (a[j - 1] != b[i - 1])
            current[j] = min(previous[j] + 1, current[j - 1] + 1, change)
    return current[-1]


def wer(original, result):
    original, result = original.split(), result.split()
    return levenshtein(original, result) / max(len(original), 1)


def calculate_report(transcripts, decoded):
    words = [wer(a, b) for a, b in zip(transcripts, decoded, strict=True)]
    letters = [levenshtein(a, b) for a, b in zip(transcripts, decoded, strict=True)]
    return sum(words) / len(words), sum(letters) / len(letters)


class Coordinator:
    def __init__(self, gpu):
        self.gpu, self.draw = gpu, numpy.random.default_rng(1)

    def decode(self, transcripts):
        """What the network heard: some letters are others."""
        self.gpu.launch(0.004, "ctc decoder")
        self.gpu.item()
        return ["".join(c if self.draw.random() > 0.1 else "e" for c in text) for text in transcripts]

    def train_batch(self, features):
        self.gpu.copy(features.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.0052, "lstm, ctc")
        self.gpu.launch(0.0098, "backward, adam")

    def validate(self, loader):
        rates = []
        for features, transcripts in loader:
            self.gpu.copy(features.nbytes, pinned=True, non_blocking=True)
            self.gpu.launch(0.0052, "lstm, ctc")
            rates.append(calculate_report(transcripts, self.decode(transcripts)))
        return numpy.mean(rates, 0)


def main():
    torch.set_num_threads(1)
    gpu, samples, epoch = Device(spin=False), 0, 0
    coordinator = Coordinator(gpu)
    options = {"num_workers": 1, "pin_memory": True, "persistent_workers": True}
    train, dev = (DataLoader(CommonVoice(count), BATCH, **options) for count in (TRAIN, DEV))
    while not over():
        for features, _ in train:
            coordinator.train_batch(features)
            samples += len(features)
        epoch += 1
        gpu.item()
        if epoch % VALIDATION_STEP == 0:
            rate, distance = coordinator.validate(dev)
            report = f"WER: {rate:f}, loss: {gpu.item():f}, mean edit distance: {distance:f}"
            print(f"I Validation of Epoch {epoch} - {report}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
