"""A hundred replicas of a fit of parton distributions: an epoch is a single step."""

# https://github.com/NNPDF/nnpdf/pull/1939
# Cause: model.fit runs with one batch to an epoch, so that what an epoch costs (handler of the data, its iterator,
#        callbacks, metrics) is paid at each step: 91 s of 1000 epochs for 67 s of work.
# Fix: give the input a hundred times to an epoch, and have callbacks at the end of a step.
# Line: 57, DataHandler in fit (its work is at 26, 27; 100 waits at 67).

import json
import os
import tempfile

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, TensorDataset

COPIES = 100


class DataHandler:
    """Makes the input ready for one epoch, as Keras does at each epoch of each call."""

    def __init__(self, x, copies):
        tensors = [torch.from_numpy(numpy.ascontiguousarray(grid, dtype=numpy.float32)) for grid in x.values()]
        self.loader = DataLoader(TensorDataset(*[t.expand(copies, *t.shape) for t in tensors]), batch_size=None)

    def steps(self):
        yield from self.loader


class Callbacks:
    """Timing, stopping and a log, at the end of an epoch or of a step."""

    def __init__(self, folder):
        self.file = open(os.path.join(folder, "fit.log"), "a")
        self.best, self.seen = [float("inf")] * 100, 0

    def end(self, logs):
        self.best = [min(old, new) for old, new in zip(self.best, logs, strict=True)]
        self.seen += 1
        if self.seen % 10 == 0:
            self.file.write(json.dumps({"epoch": self.seen, "chi2": self.best}) + "\n")
            self.file.flush()


def train_step(gpu, batch):
    gpu.copy(sum(grid.nbytes for grid in batch))
    for experiment in range(20):
        gpu.launch(0.00033, f"convolution {experiment}")
    gpu.launch(0.0070, "backward, nadam")


def fit(gpu, x, callbacks):
    """One epoch."""
    handler, steps = DataHandler(x, COPIES if FIX else 1), 0
    for batch in handler.steps():
        train_step(gpu, batch)
        steps += 1
        if FIX:
            if steps % 10 == 0:
                callbacks.end([gpu.item()] * 100)
            if over():
                break
    if not FIX:
        logs = [gpu.item() for _ in range(100)]  # a metric of each replica
        callbacks.end(logs)
    return steps


def main():
    torch.set_num_threads(1)
    gpu, steps, shown = Device(spin=False), 0, 0
    draw = numpy.random.default_rng(1)
    x = {f"grid {n}": draw.random((200, 20, 8)) for n in range(40)}
    with tempfile.TemporaryDirectory() as folder:
        callbacks = Callbacks(folder)
        while not over():
            steps += fit(gpu, x, callbacks)
            if steps - shown >= 100:
                print(f"epoch {steps}: chi2 {callbacks.best[0]:.3f}", flush=True)
                shown = steps
        callbacks.file.close()
    done(gpu, steps)


if __name__ == "__main__":
    main()
