"""A sampler that makes a tensor of each index, one by one, at each epoch (ufoym/imbalanced-dataset-sampler#21)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset, Sampler


class Balanced(Sampler):
    def __init__(self, labels, num_samples):
        self.indices = list(range(len(labels)))
        self.num_samples = num_samples
        count = torch.bincount(labels)
        self.weights = 1.0 / count[labels].double()

    def __iter__(self):
        drawn = torch.multinomial(self.weights, self.num_samples, replacement=True)
        if FIX:
            return iter(drawn.tolist())
        return (self.indices[i] for i in drawn)

    def __len__(self):
        return self.num_samples


class Clicks(Dataset):
    def __init__(self, rows):
        self.rows = torch.zeros(rows, 16)

    def __len__(self):
        return len(self.rows)

    def __getitems__(self, indices):
        return self.rows[torch.as_tensor(indices)]

    def __getitem__(self, i):
        return self.rows[i]


def main():
    gpu, data = Device(), Clicks(200_000)
    sampler = Balanced(torch.randint(0, 5, (len(data),)), len(data))
    loader = DataLoader(data, batch_size=2048, sampler=sampler, num_workers=1, pin_memory=True, collate_fn=lambda rows: rows)
    samples = 0
    while not over():
        for batch in loader:
            gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.006, "step")
            samples += len(batch)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
