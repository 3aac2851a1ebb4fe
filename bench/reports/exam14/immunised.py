"""Many small networks are fitted in turn to tell which peptides a cell presents."""

# https://github.com/openvax/mhcflurry/issues/322

import gc
import random

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

PEPTIDES, BATCH, VALID, EPOCHS, ALPHABET = 120_000, 256, 1024, 60, "ACDEFGHIKLMNPQRSTVWY"


class Peptides:
    """Sequences with what flanks them, and hits and decoys of each fold."""

    def __init__(self):
        draw = random.Random(0)
        self.rows = [
            ["".join(draw.choices(ALPHABET, k=9)), {"n_flank": "AKL", "c_flank": "GGT", "hit": i % 9 == 0}]
            for i in range(PEPTIDES)
        ]

    def encode(self, count):
        """The first rows as numbers."""
        index = {letter: number for number, letter in enumerate(ALPHABET)}
        return numpy.array([[index[letter] for letter in peptide] for peptide, _ in self.rows[:count]], numpy.int8)


class Class1ProcessingNeuralNetwork:
    """One member of the ensemble."""

    def __init__(self, gpu):
        self.gpu = gpu

    def batch_loss(self, rows):
        self.gpu.copy(rows.nbytes)
        self.gpu.launch(0.0006, "convolutions")

    def fit(self, train, valid, trained):
        for epoch in range(EPOCHS):
            for start in range(0, len(train), BATCH):
                self.batch_loss(train[start : start + BATCH])
                self.gpu.launch(0.0011, "backward, adam")
                trained(BATCH)
            for start in range(0, len(valid), VALID):
                self.batch_loss(valid[start : start + VALID])
            loss = self.gpu.item()
            if not FIX:
                gc.collect()
            if over():
                break
        return epoch, loss


def main():
    torch.set_num_threads(1)
    gpu, samples, number = Device(spin=False, memory_used=1 << 30), 0, 0
    peptides = Peptides()
    encoded = peptides.encode(48 * BATCH + VALID)
    train, valid = encoded[: 48 * BATCH], encoded[48 * BATCH :]

    def trained(count):
        nonlocal samples
        samples += count

    while not over():
        model = Class1ProcessingNeuralNetwork(gpu)
        epoch, loss = model.fit(train, valid, trained)
        gc.collect()
        number += 1
        print(f"model {number}: {epoch + 1} epochs, val_loss={loss:.4f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
