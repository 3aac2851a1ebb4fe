"""Which differences in reads of DNA are mutations: a network looks at all reads at a place; all data are in memory."""

# https://github.com/broadinstitute/permutect/pull/153
# Cause: each large batch is copied from pageable memory before its step: the host waits, and then the device until it is there.
# Fix: load the next batch to the device while this one is computed, from pinned memory and non_blocking.
# Line: 23 to 26, 84, 89: batch.copy_to in batches_on_device.

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

BATCH, READS, FEATURES, REFERENCE = 8192, 40, 96, 5 * 20


class ReadSetBatch:
    """A slice of each array: nothing is copied in memory."""

    def __init__(self, reads, sequences, labels):
        self.reads, self.sequences, self.labels = reads, sequences, labels

    def copy_to(self, gpu, pinned):
        gpu.copy(self.reads.nbytes, pinned=pinned, non_blocking=True)
        gpu.copy(self.sequences.nbytes, pinned=pinned, non_blocking=True)
        gpu.copy(self.labels.nbytes, pinned=pinned, non_blocking=True)
        return self

    def size(self):
        return len(self.labels)


class BaseDataset(Dataset):
    def __init__(self, batches=2):
        self.batches, rows = batches, batches * BATCH
        self.reads, self.sequences = torch.zeros(rows, READS, FEATURES), torch.zeros(rows, REFERENCE)
        self.labels = torch.from_numpy(numpy.random.default_rng(0).integers(0, 3, rows))

    def __len__(self):
        return 200

    def __getitem__(self, i):
        rows = slice(i % self.batches * BATCH, (i % self.batches + 1) * BATCH)
        return ReadSetBatch(self.reads[rows], self.sequences[rows], self.labels[rows])


class ArtifactModel:
    def __init__(self, gpu):
        self.gpu = gpu

    def calculate_logits(self):
        for block in range(4):
            self.gpu.launch(0.0011, f"gated mlp {block}")

    def backpropagate(self):
        self.gpu.launch(0.0004, "calibration, bce")
        self.gpu.launch(0.0078, "backward, adamw")


class StreamingAverage:
    """Losses by kind of variant, on the host."""

    def __init__(self):
        self.counts, self.total = torch.zeros(3), 0.0

    def record(self, batch, loss):
        self.counts += torch.bincount(batch.labels, minlength=3)
        self.total += loss


def prefetch_generator(loader, gpu):
    """Gives a batch when the next one is on its way."""
    ahead = None
    for batch in loader:
        batch.copy_to(gpu, pinned=True)
        if ahead is not None:
            yield ahead
        ahead = batch
    yield ahead


def batches_on_device(loader, gpu):
    for batch in loader:
        yield batch.copy_to(gpu, pinned=False)


def learn_artifact_model(model, gpu, loader, average):
    samples = 0
    for n, batch in enumerate(prefetch_generator(loader, gpu) if FIX else batches_on_device(loader, gpu), 1):
        model.calculate_logits()
        model.backpropagate()
        average.record(batch, 0.0)
        samples += batch.size()
        if n % 50 == 0:
            average.total += gpu.item()
        if over():
            break
    return samples


def main():
    torch.set_num_threads(1)
    gpu, samples, epoch = Device(spin=False), 0, 0
    dataset, model, average = BaseDataset(), ArtifactModel(gpu), StreamingAverage()
    loader = DataLoader(dataset, None, shuffle=True)
    while not over():
        samples += learn_artifact_model(model, gpu, loader, average)
        epoch += 1
        print(f"Labeled base loss for epoch {epoch}: {average.total:.3f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
