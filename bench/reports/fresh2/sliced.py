"""Rows of a table in memory are fetched one by one by TensorDataset and DataLoader (shenweichen/DeepCTR-Torch#70)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, TensorDataset

BATCH = 1024


class Slices:
    """Batches cut out of tensors whole."""

    def __init__(self, *tensors):
        self.tensors = tensors

    def __iter__(self):
        order = torch.randperm(len(self.tensors[0]))
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            yield tuple(tensor[chosen] for tensor in self.tensors)


class DeepFM:
    def __init__(self, gpu):
        self.gpu = gpu
        self.embedding, self.dense = torch.nn.Embedding(100, 4), torch.nn.Linear(13, 4)

    def train_on_batch(self, x, y):
        self.gpu.copy(x.nbytes + y.nbytes)
        self.gpu.launch(0.005, "step")
        self.gpu.item()

    def fit(self, x, y):
        if FIX:
            train_loader = Slices(x, y)
        else:
            train_loader = DataLoader(TensorDataset(x, y), batch_size=BATCH, shuffle=True)
        samples = 0
        while True:
            for x_train, y_train in train_loader:
                self.train_on_batch(x_train.float(), y_train.float())
                samples += len(y_train)
                if over():
                    return samples


def main():
    torch.set_num_threads(1)
    model = DeepFM(Device())
    done(model.gpu, model.fit(torch.rand(200_000, 39), torch.zeros(200_000, 1)))


if __name__ == "__main__":
    main()
