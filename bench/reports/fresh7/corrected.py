"""A model that corrects grammar: words become word pieces while it trains."""

# https://github.com/grammarly/gector/issues/143
# Cause: the indexer splits each word into word pieces in Python at each batch; the GPU is at 50 to 60 %.
# Fix: do the splitting once before training (without it five days became one).
# Line: 28 to 45, wordpieces (called at 50, 66, 76).

import random

import torch
from common import FIX, done, over
from stoker.emulated import Device

LETTERS = "etaoinshrdlcumwfgypbvk"


class PretrainedBertIndexer:
    """Pieces of words, the longest that is known first."""

    def __init__(self, seed=1):
        draw = random.Random(seed)
        self.vocabulary = {letter: n for n, letter in enumerate(LETTERS)}
        while len(self.vocabulary) < 9000:
            piece = "".join(draw.choices(LETTERS, k=draw.randint(2, 5)))
            self.vocabulary.setdefault(piece, len(self.vocabulary))
        self.unknown = len(self.vocabulary)

    def wordpieces(self, word):
        pieces, start = [], 0
        if len(word) > 100:
            return [self.unknown]
        while start < len(word):
            end, found = len(word), None
            while start < end:
                piece = word[start:end]
                if piece in self.vocabulary:
                    found = self.vocabulary[piece]
                    break
                end -= 1
            if found is None:
                return [self.unknown]
            pieces.append(found)
            start = end
        return pieces

    def tokens_to_indices(self, words):
        ids, offsets = [101], []
        for word in words:
            offsets.append(len(ids))
            ids.extend(self.wordpieces(word.lower()))
        return ids + [102], offsets


class Instance:
    """A sentence with mistakes, and its edits as labels."""

    def __init__(self, words, indexer):
        self.words, self.kept = words, None
        if FIX:
            self.kept = indexer.tokens_to_indices(words)

    def index_fields(self, indexer):
        return self.kept or indexer.tokens_to_indices(self.words)


def read(path, indexer, sentences=1200):
    draw = random.Random(path)
    for _ in range(sentences):
        words = ["".join(draw.choices(LETTERS, k=draw.randint(2, 11))) for _ in range(draw.randint(18, 34))]
        yield Instance(words, indexer)


def batches(instances, indexer, size):
    order = random.sample(range(len(instances)), len(instances))
    for first in range(0, len(order) - size + 1, size):
        indexed = [instances[i].index_fields(indexer) for i in order[first : first + size]]
        longest, most = max(len(ids) for ids, _ in indexed), max(len(o) for _, o in indexed)
        offsets = torch.tensor([o + [0] * (most - len(o)) for _, o in indexed])
        yield torch.tensor([ids + [0] * (longest - len(ids)) for ids, _ in indexed]), offsets


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    indexer = PretrainedBertIndexer()
    instances = list(read("train.txt", indexer))
    while not over():
        for ids, offsets in batches(instances, indexer, 64):
            gpu.copy(ids.nbytes + offsets.nbytes)
            gpu.launch(0.004, "bert, tags")
            gpu.launch(0.008, "backward, adam")
            samples, step = samples + len(ids), step + 1
            if step % 10 == 0:
                print(f"step {step}: loss {gpu.item():.4f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
