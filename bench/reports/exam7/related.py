"""Entities and their relations as vectors; edges are gone through bucket by bucket, and an epoch of them is short."""

# https://github.com/facebookresearch/PyTorch-BigGraph/issues/222
# Cause: all vectors are written to disk as a checkpoint after each epoch, and training waits for it.
# Fix: a list of edges that holds the edges ten times, so that a checkpoint comes after what were ten epochs.
# Line: 64, write_new_version after each epoch (the work is at 34 to 43).

import os
import tempfile

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

ENTITIES, DIMENSION, EDGES, BATCH = 120_000, 100, 160_000, 2000


class EdgeList:
    def __init__(self, copies):
        draw = numpy.random.default_rng(0)
        self.left, self.right = [torch.from_numpy(draw.integers(0, ENTITIES, EDGES)).repeat(copies) for _ in range(2)]

    def batches(self):
        order = torch.randperm(len(self.left))
        for at in range(0, len(order), BATCH):
            yield self.left[order[at : at + BATCH]], self.right[order[at : at + BATCH]]


class CheckpointManager:
    def __init__(self, folder):
        self.folder, self.version = folder, 0

    def write_new_version(self, embeddings, optimizer):
        self.version += 1
        for name, array in (("embeddings", embeddings), ("optimizer", optimizer)):
            path = os.path.join(self.folder, f"{name}.v{self.version}")
            with open(path, "wb") as file:
                numpy.save(file, array)
                file.flush()
                os.fsync(file.fileno())
            if self.version > 1:
                os.unlink(os.path.join(self.folder, f"{name}.v{self.version - 1}"))


def train(gpu, folder):
    edges = EdgeList(10 if FIX else 1)
    embeddings, optimizer = numpy.zeros((ENTITIES, DIMENSION), numpy.float32), numpy.zeros(ENTITIES, numpy.float32)
    manager, samples, epoch = CheckpointManager(folder), 0, 0
    while not over():
        for number, (left, right) in enumerate(edges.batches()):
            gpu.copy(left.nbytes + right.nbytes)
            gpu.launch(0.0012, "scores of edges and of negatives")
            gpu.launch(0.0021, "backward, adagrad")
            samples += len(left)
            if number % 40 == 39:
                gpu.item()
            if over():
                break
        loss = gpu.item()
        epoch += 1
        gpu.launch(0.004, "vectors to the host")
        gpu.synchronize()
        manager.write_new_version(embeddings, optimizer)
        print(f"finished epoch {epoch}: loss {loss:.4f}, checkpoint {manager.version}", flush=True)
    return samples


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        gpu = Device(spin=False)
        done(gpu, train(gpu, folder))


if __name__ == "__main__":
    main()
