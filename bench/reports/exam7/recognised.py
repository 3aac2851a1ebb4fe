"""Phones of speech, trained with CTC; spectrograms are computed in the data set."""

# https://github.com/awni/speech/issues/7
# Cause: none: loading and preprocessing take a small part of the time, "precomputing the spectrograms won't make the
#        models train any faster". Healthy.
# Fix: nothing to change (--fix makes the spectrograms beforehand, which gains nothing).
# Line: none.

import numpy
import scipy.signal
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

RATE = 16_000


def log_specgram(audio, window=20, step=10):
    length, overlap = RATE * window // 1000, RATE * (window - step) // 1000
    _, _, spectrum = scipy.signal.spectrogram(audio, RATE, "hann", length, overlap, detrend=False)
    return numpy.log(spectrum.T.astype(numpy.float32) + 1e-10)


class Timit(Dataset):
    def __init__(self, count=3696):
        draw = numpy.random.default_rng(0)
        self.sounds = [draw.standard_normal(RATE * seconds // 2).astype(numpy.float32) for seconds in (4, 5, 6, 7)]
        self.made, self.count = [log_specgram(sound) for sound in self.sounds], count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        inputs = self.made[i % 4] if FIX else log_specgram(self.sounds[i % 4])
        return torch.from_numpy((inputs - inputs.mean()) / inputs.std()), torch.arange(38) % 48


def collate(batch):
    inputs, labels = zip(*batch, strict=True)
    return torch.nn.utils.rnn.pad_sequence(inputs, batch_first=True), torch.stack(labels)


class Seq2Seq:
    """The encoder's layers, and a decoder that goes label by label."""

    def __init__(self, gpu):
        self.gpu = gpu

    def loss(self, inputs, labels):
        self.gpu.copy(inputs.nbytes + labels.nbytes, pinned=True, non_blocking=True)
        for layer in range(4):
            self.gpu.launch(0.016, f"gru {layer}")
        for label in range(labels.shape[1]):
            self.gpu.launch(0.0012, f"attend, decode {label % 4}")
        self.gpu.launch(0.18, "backward")


def run_epoch(gpu, model, loader):
    samples = 0
    for step, (inputs, labels) in enumerate(loader):
        model.loss(inputs, labels)
        gpu.launch(0.004, "clip, sgd")
        samples += len(labels)
        if step % 2 == 1:
            print(f"Iter: {step}, loss: {gpu.item():.3f}", flush=True)
        if over():
            break
    return samples


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False, memory_used=9 << 30), 0
    loader = DataLoader(Timit(), 8, shuffle=True, num_workers=1, collate_fn=collate, pin_memory=True, persistent_workers=True)
    model = Seq2Seq(gpu)
    while not over():
        samples += run_epoch(gpu, model, loader)
    done(gpu, samples)


if __name__ == "__main__":
    main()
