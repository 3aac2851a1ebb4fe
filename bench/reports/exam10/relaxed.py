"""Forces on atoms are learned from a hundred structures, so that an epoch takes a moment."""

# https://github.com/apax-hub/apax/issues/22
# Cause: a checkpoint after every epoch: the manager writes in the background, but each must wait until the one before is written.
# Fix: a checkpointing interval.
# Line: 48 to 51, 54 to 55, 78: CheckpointManager.save_checkpoint, called after each epoch in fit.

import tempfile
import threading
import zlib
from pathlib import Path

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

STRUCTURES, BATCH, ATOMS, CKPT_INTERVAL = 96, 8, 64, 40 if FIX else 1


class InMemoryDataset:
    def __init__(self):
        draw = numpy.random.default_rng(0)
        self.positions = draw.normal(size=(STRUCTURES, ATOMS, 3)).astype(numpy.float32)
        self.forces, self.neighbors = numpy.zeros_like(self.positions), draw.integers(0, ATOMS, (STRUCTURES, 2, 20 * ATOMS))
        self.draw = draw

    def shuffle_and_batch(self):
        order = self.draw.permutation(STRUCTURES)
        for start in range(0, STRUCTURES, BATCH):
            chosen = order[start : start + BATCH]
            yield self.positions[chosen], self.forces[chosen], self.neighbors[chosen]


class CheckpointManager:
    """One write at a time, in a thread; arrays are compressed chunk by chunk."""

    def __init__(self, folder):
        self.folder, self.writing = Path(folder), None

    def write(self, epoch, state):
        with open(self.folder / f"ckpt_{epoch % 2}", "wb") as file:
            for array in state.values():
                for chunk in numpy.array_split(array, 8):
                    file.write(zlib.compress(chunk.tobytes(), 1))

    def save_checkpoint(self, epoch, state):
        self.wait_until_finished()
        state = {name: array.copy() for name, array in state.items()}
        self.writing = threading.Thread(target=self.write, args=(epoch, state))
        self.writing.start()

    def wait_until_finished(self):
        if self.writing:
            self.writing.join()


class TrainState:
    def __init__(self, gpu):
        self.gpu, draw = gpu, numpy.random.default_rng(1)
        self.tree = {name: draw.normal(size=1_300_000).astype(numpy.float32) for name in ("params", "mu", "nu")}

    def train_step(self, positions, forces, neighbors):
        self.gpu.copy(positions.nbytes + forces.nbytes + neighbors.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.0098, "gaussian moments, energy, forces")
        self.gpu.launch(0.0107, "loss, gradient, adam")


def fit(state, dataset, manager):
    samples = epoch = 0
    while not over():
        for batch in dataset.shuffle_and_batch():
            state.train_step(*batch)
            samples += BATCH
        epoch += 1
        loss = state.gpu.item()
        if epoch % CKPT_INTERVAL == 0:
            manager.save_checkpoint(epoch, state.tree)
        if epoch % 10 == 0:
            print(f"Epochs: {epoch}/1000 train_loss={loss:.5f}", flush=True)
    manager.wait_until_finished()
    return samples


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        gpu = Device(spin=False)
        done(gpu, fit(TrainState(gpu), InMemoryDataset(), CheckpointManager(folder)))


if __name__ == "__main__":
    main()
