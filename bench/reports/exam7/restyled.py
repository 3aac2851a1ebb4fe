"""Sentences are put into another style by a model of their hidden twins; now and then the score of its words is taken."""

# https://github.com/cindyxinyiwang/deep-latent-sequence-model/issues/10
# Cause: with a beam the sentences kept for the score are translated one by one: dev_batch_size is 1 then.
# Fix: a beam of one, with the batches that valid_batch_size says.
# Line: 74, dev_batch_size in eval (the loop is at 48 to 53).

import collections
import math
import random

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

BEAM, VALID_BATCH, DEV, LENGTH = 5, 128, 96, 22


class Yelp(Dataset):
    def __init__(self, count=8000):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return torch.full((LENGTH,), i % 9000), i % 2


class HMM:
    def __init__(self, gpu):
        self.gpu = gpu

    def train_step(self, words):
        self.gpu.copy(words.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.005, "encode, attend, decode both ways")
        self.gpu.launch(0.011, "backward, adam")

    def step(self, rows):
        self.gpu.launch(0.0003 + 1e-6 * rows, "lstm, attention, softmax")
        self.gpu.launch(0.00003, "top k")
        return torch.rand(rows).topk(min(BEAM, rows)).indices

    def translate(self, sources, beam):
        """As many steps as the longest has words."""
        hypotheses = [[[2]] * beam for _ in sources]
        for position in range(LENGTH):
            order = self.step(len(sources) * beam)
            self.gpu.item()
            for row in range(len(sources)):
                chosen = hypotheses[row]
                hypotheses[row] = [chosen[int(order[b]) % beam if beam > 1 else 0] + [position + b] for b in range(beam)]
        return [beams[0] for beams in hypotheses]


def bleu(found, wanted):
    score = 0.0
    for n in range(1, 5):
        ours = collections.Counter(tuple(row[i : i + n]) for row in found for i in range(len(row) - n))
        theirs = collections.Counter(tuple(row[i : i + n]) for row in wanted for i in range(len(row) - n))
        score += math.log((sum((ours & theirs).values()) + 1) / (sum(ours.values()) + 1)) / 4
    return 100 * math.exp(score)


class Main:
    def __init__(self, gpu):
        self.gpu, self.model, self.samples, self.step = gpu, HMM(gpu), 0, 0
        draw = random.Random(0)
        self.dev = [[draw.randrange(9000) for _ in range(LENGTH)] for _ in range(DEV)]

    def eval(self):
        beam = 1 if FIX else BEAM
        dev_batch_size = VALID_BATCH if beam == 1 else 1
        found = []
        for at in range(0, DEV, dev_batch_size):
            found += self.model.translate(self.dev[at : at + dev_batch_size], beam)
        print(f"val_step={self.step} bleu={bleu(found, self.dev):.2f}", flush=True)

    def train(self, loader):
        while not over():
            for words, _ in loader:
                self.model.train_step(words)
                self.step, self.samples = self.step + 1, self.samples + len(words)
                if self.step % 80 == 0:
                    self.eval()
                if over():
                    return


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    loader = DataLoader(Yelp(), 32, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    trainer = Main(gpu)
    trainer.train(loader)
    done(gpu, trainer.samples)


if __name__ == "__main__":
    main()
