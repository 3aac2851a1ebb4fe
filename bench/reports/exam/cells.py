"""Counts that are nearly all zero are spread out on the host and copied to the device so (scverse/scvi-tools#2152)."""

import numpy
import torch
from common import FIX, done, over
from scipy.sparse import csr_matrix
from stoker.emulated import Device
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler


def make_counts(cells=2000, peaks=60_000, each=900):
    draw = numpy.random.default_rng(0)
    columns = numpy.sort(draw.integers(0, peaks, (cells, each), numpy.int32), axis=1).ravel()
    return csr_matrix((numpy.ones(cells * each, numpy.float32), columns, numpy.arange(0, cells * each + 1, each)), (cells, peaks))


class AnnTorchDataset(Dataset):
    def __init__(self, counts):
        self.counts = counts

    def __len__(self):
        return self.counts.shape[0]

    def __getitem__(self, indices):
        rows = self.counts[indices]
        if FIX:
            return torch.from_numpy(rows.indptr), torch.from_numpy(rows.indices), torch.from_numpy(rows.data)
        return (torch.from_numpy(rows.toarray()),)


def main():
    torch.set_num_threads(1)
    data = AnnTorchDataset(make_counts())
    sampler = BatchSampler(RandomSampler(data), 128, drop_last=False)
    loader = DataLoader(data, sampler=sampler, batch_size=None)
    gpu, samples = Device(spin=False), 0
    while not over():
        for tensors in loader:
            gpu.copy(sum(part.nbytes for part in tensors))
            if FIX:
                gpu.launch(0.0005, "to dense")
            gpu.launch(0.004, "step")
            samples += 128
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
