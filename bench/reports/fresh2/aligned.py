"""Texts are aligned with their spectrograms by dynamic programming on the CPU in each step (shivammehta25/Matcha-TTS#73)."""

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

TEXT, FRAMES = 100, 1000


class TextMel(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        durations = torch.full((TEXT,), FRAMES // TEXT) if FIX else torch.zeros(0)
        return torch.zeros(TEXT, dtype=torch.long), torch.rand(16, FRAMES), durations


def maximum_path(values):
    """The best monotonic path through values (batch, text, frames)."""
    batch, text, frames = values.shape
    best = numpy.full((batch, text), -1e9, numpy.float32)
    best[:, 0] = values[:, 0, 0]
    moved = numpy.zeros((batch, text, frames), bool)
    for frame in range(1, frames):
        before = numpy.concatenate([numpy.full((batch, 1), -1e9, numpy.float32), best[:, :-1]], axis=1)
        moved[:, :, frame] = before > best
        best = numpy.maximum(before, best) + values[:, :, frame]
    path, place = numpy.zeros_like(values), numpy.full(batch, text - 1)
    rows = numpy.arange(batch)
    for frame in reversed(range(frames)):
        path[rows, place, frame] = 1
        place = place - moved[rows, place, frame]
    return path


def generate_path(durations):
    """A path of durations that are known."""
    ends = durations.cumsum(1)[..., None]
    frames = torch.arange(FRAMES)
    return (frames < ends) & (frames >= ends - durations[..., None])


class MatchaTTS:
    def __init__(self, gpu):
        self.gpu, self.prior = gpu, torch.rand(16, TEXT)

    def forward(self, text, mel, durations):
        self.gpu.copy(mel.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.008, "text encoder")
        if FIX:
            attention = generate_path(durations)
            self.gpu.launch(0.0002, "generate path")
        else:
            log_prior = torch.einsum("ct,bcf->btf", self.prior, mel)
            self.gpu.item()  # .cpu()
            attention = torch.from_numpy(maximum_path(log_prior.numpy()))
            self.gpu.copy(attention.nbytes)
        self.gpu.launch(0.012, "decoder, backward")
        return attention.sum()


def main():
    torch.set_num_threads(1)
    gpu = Device()
    model = MatchaTTS(gpu)
    loader = DataLoader(TextMel(), batch_size=16, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    samples = 0
    for step, (text, mel, durations) in enumerate(loader):
        model.forward(text, mel, durations)
        if step % 50 == 0:
            gpu.item()  # the loss is logged
        samples += len(text)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
