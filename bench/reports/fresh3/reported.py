"""Sentences are spelt right and compared word by word for a report of each epoch (mozilla/DeepSpeech#776)."""

import math
import random
from heapq import heapify

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

LETTERS = "abcdefghijklmnopqrstuvwxyz"
BEAM_WIDTH = 64
draw = random.Random(0)
VOCABULARY = ["".join(draw.choices(LETTERS, k=draw.randint(2, 6))) for _ in range(3000)]
KNOWN = set(VOCABULARY)
display_step = 0 if FIX else 1


class TED(Dataset):
    def __init__(self, count=32 * 60):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return torch.zeros(160, 26)


def edits1(word):
    """All strings one edit away from a word."""
    splits = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    deletes = [left + right[1:] for left, right in splits if right]
    replaces = [left + c + right[1:] for left, right in splits if right for c in LETTERS]
    inserts = [left + c + right for left, right in splits for c in LETTERS]
    return set(deletes + replaces + inserts)


def candidate_words(word):
    return [w for w in {word, *edits1(word)} if w in KNOWN] or [word]


def log_probability(words):
    return sum(math.log(1 + len(word) + (word in KNOWN)) for word in words)


def correction(sentence):
    """The likeliest sentence of known words."""
    layer = [(0, [])]
    for word in sentence.split():
        layer = [
            (-log_probability([*node, cword]), [*node, cword]) for cword in candidate_words(word) for _, node in layer
        ]
        heapify(layer)
        layer = layer[:BEAM_WIDTH]
    return " ".join(layer[0][1])


def levenshtein(a, b):
    current = range(len(a) + 1)
    for i, word in enumerate(b, 1):
        previous, current = current, [i]
        for j, other in enumerate(a, 1):
            current.append(min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (word != other)))
    return current[-1]


def wer(original, result):
    return levenshtein(original.split(), result.split()) / len(original.split())


def calculate_report(results):
    """The mean word error rate of pairs of what was said and what was decoded."""
    rates = [wer(original, correction(decoded)) for original, decoded in results]
    return sum(rates) / len(rates)


def decode(count):
    """Sentences, and the same with every fifth letter wrong."""
    for _ in range(count):
        original = " ".join(draw.choices(VOCABULARY, k=14))
        yield original, "".join("e" if n % 5 == 4 and c != " " else c for n, c in enumerate(original))


class Coordinator:
    def __init__(self):
        self.gpu, self.samples, self.epoch = Device(spin=False), 0, 0
        self.loader = DataLoader(TED(), batch_size=32, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)

    def run_epoch(self):
        for mfccs in self.loader:
            self.gpu.copy(mfccs.nbytes, pinned=True, non_blocking=True)
            self.gpu.launch(0.03, "rnn, ctc, backward")
            self.gpu.item()
            self.samples += len(mfccs)
            if over():
                return

    def train(self):
        while not over():
            self.run_epoch()
            self.epoch += 1
            if display_step and self.epoch % display_step == 0:
                print(f"Training of Epoch {self.epoch} - WER: {calculate_report(list(decode(50))):.3f}", flush=True)


def main():
    torch.set_num_threads(1)
    coordinator = Coordinator()
    coordinator.train()
    done(coordinator.gpu, coordinator.samples)


if __name__ == "__main__":
    main()
