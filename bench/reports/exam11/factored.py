"""A network with attention over columns learns from a table of customers."""

# https://github.com/dreamquark-ai/tabnet/issues/258

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

ROWS, COLUMNS, BATCH = 60_000, 54, 512


class TorchDataset(Dataset):
    def __init__(self):
        draw = numpy.random.default_rng(0)
        self.x, self.y = draw.normal(size=(ROWS, COLUMNS)).astype(numpy.float32), draw.integers(0, 2, ROWS)

    def __len__(self):
        return ROWS

    def __getitem__(self, index):
        x, y = self.x[index], self.y[index]
        return x, y


class FastTensorDataLoader:
    def __init__(self, dataset):
        self.x, self.y = torch.from_numpy(dataset.x), dataset.y

    def __iter__(self):
        order = torch.randperm(ROWS)
        for start in range(0, ROWS - BATCH, BATCH):
            chosen = order[start : start + BATCH]
            yield self.x[chosen], torch.from_numpy(self.y[chosen.numpy()])


class TabNet:
    def __init__(self, gpu):
        self.gpu = gpu

    def train_batch(self, x, y):
        self.gpu.copy(x.nbytes + y.nbytes, pinned=True, non_blocking=True)
        for step in range(5):
            self.gpu.launch(0.018, f"attentive transformer, feature transformer {step}")
        self.gpu.launch(0.142, "sparse loss, backward, adam")


def main():
    torch.set_num_threads(1)
    gpu, samples, epoch = Device(spin=False), 0, 0
    network, dataset = TabNet(gpu), TorchDataset()
    loader = FastTensorDataLoader(dataset) if FIX else DataLoader(
        dataset, BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True
    )  # fmt: skip
    while not over():
        for number, (x, y) in enumerate(loader):
            network.train_batch(x, y)
            samples += len(x)
            if number % 20 == 19:
                print(f"epoch {epoch}  | loss: {gpu.item():.5f}", flush=True)
            if over():
                break
        epoch += 1
    done(gpu, samples)


if __name__ == "__main__":
    main()
