"""What the genes of single cells do is summed up by a variational autoencoder; the counts are a sparse matrix in memory."""

# https://github.com/YosefLab/scVI-dev/issues/63
# Cause: none: a loop over the loader alone is 8 times as fast by the other layout, but the training takes 479 instead of 482
#        seconds: "this difference is probably not a bottleneck".
# Fix: nothing to change (--fix keeps the counts dense, which gains nothing).
# Line: none.

import numpy
import scipy.sparse
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

CELLS, GENES, BATCH = 6000, 720, 128


class BrainLargeDataset(Dataset):
    def __init__(self):
        counts = scipy.sparse.random(CELLS, GENES, 0.1, "csr", numpy.float32, 0)
        self.X, self.batch_indices = counts.toarray() if FIX else counts, numpy.zeros(CELLS, numpy.int64)

    def __len__(self):
        return CELLS

    def collate(self, rows):
        counts = self.X[rows] if FIX else self.X[rows].toarray()
        return torch.from_numpy(counts), torch.from_numpy(self.batch_indices[rows])

    def __getitem__(self, i):
        return i


class VariationalInference:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, counts, batch_indices):
        self.gpu.copy(counts.nbytes + batch_indices.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.0061, "encoder")
        self.gpu.launch(0.0052, "decoder, zinb")
        self.gpu.launch(0.0143, "backward, adam")


def main():
    torch.set_num_threads(1)
    gpu, samples, epoch = Device(spin=False, memory_used=6 << 30), 0, 0
    dataset, model = BrainLargeDataset(), VariationalInference(gpu)
    loader = DataLoader(dataset, BATCH, shuffle=True, collate_fn=dataset.collate)
    while not over():
        for counts, batch_indices in loader:
            model.step(counts, batch_indices)
            samples += len(counts)
            if over():
                break
        epoch += 1
        if epoch % 5 == 0:
            print(f"Training Epoch {epoch}: ELBO {gpu.item():.2f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
