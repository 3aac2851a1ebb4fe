"""A network that reads lines of Chinese text: some thousands of characters, trained with CTC."""

# https://github.com/MaybeShewill-CV/CRNN_Tensorflow/issues/71
# Cause: each training step also decodes by beam search on the CPU, and measures the distance to the label.
# Fix: turn beam search (and the distance) off in training: it only shows results; about 40 % faster.
# Line: 90, decode and distance in train (beam_search at 40).

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

CHARACTERS, LENGTH, BATCH = 6000, 26, 8


class Lines(Dataset):
    """Pictures of lines with their labels."""

    def __init__(self, count=1200):
        self.labels = numpy.random.default_rng(0).integers(1, CHARACTERS, (count, 8))

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return torch.full((1, 32, 280), 0.5), torch.from_numpy(self.labels[i])


def probabilities(labels):
    """What the network would say: blank or the right character, with some doubt."""
    draw = numpy.random.default_rng(int(labels.sum()))
    said = draw.random((len(labels), LENGTH, CHARACTERS), dtype=numpy.float32) * 1e-4
    for line, label in zip(said, labels.numpy(), strict=True):
        line[:, 0] = 0.4
        line[numpy.arange(len(label)) * 3 + 1, label] = 0.6
    return said


def beam_search(line, width=10):
    """The likeliest texts of one line, over its steps."""
    beams = {(): (1.0, 0.0)}  # prefix -> likelihood that it ends with a blank, or with its last character
    for step in line:
        best, following = numpy.argpartition(step, -width)[-width:], {}
        for prefix, (blank, character) in beams.items():
            for c in best:
                p = float(step[c])
                if c == 0:
                    a, b = following.get(prefix, (0.0, 0.0))
                    following[prefix] = a + p * (blank + character), b
                    continue
                longer = (*prefix, int(c))
                a, b = following.get(longer, (0.0, 0.0))
                if prefix and prefix[-1] == c:
                    following[longer] = a, b + p * blank
                    a, b = following.get(prefix, (0.0, 0.0))
                    following[prefix] = a, b + p * character
                else:
                    following[longer] = a, b + p * (blank + character)
        kept = sorted(following.items(), key=lambda item: -sum(item[1]))[:width]
        total = sum(a + b for _, (a, b) in kept)
        beams = {prefix: (a / total, b / total) for prefix, (a, b) in kept}
    return max(beams, key=lambda prefix: sum(beams[prefix]))


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1] / max(1, len(b))


def decode(said):
    return [beam_search(line) for line in said]


def train(gpu, loader):
    step = samples = 0
    while not over():
        for images, labels in loader:
            gpu.copy(images.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.022, "cnn, lstm")
            gpu.launch(0.048, "ctc, backward, adadelta")
            step, samples = step + 1, samples + len(labels)
            if not FIX or step % 200 == 0:
                gpu.item()  # the logits come to the host
                said = probabilities(labels)
                seq_dist = numpy.mean([distance(a, b) for a, b in zip(decode(said), labels.tolist(), strict=True)])
            if step % 25 == 0:
                print(f"step {step}: cost {gpu.item():.3f}" + ("" if FIX else f", distance {seq_dist:.3f}"), flush=True)
            if over():
                break
    return samples


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    loader = DataLoader(Lines(), BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    done(gpu, train(gpu, loader))


if __name__ == "__main__":
    main()
