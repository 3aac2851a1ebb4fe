"""Offers that are seldom bought are shown to the network more often than those that everybody buys."""

# https://github.com/pytorch/pytorch/issues/94131

import torch
from common import FIX, done, over
from scipy.stats.sampling import DiscreteAliasUrn
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler

OFFERS, DRAWN, BATCH, COLUMNS = 6_000_000, 120_000, 1024, 16


class AliasSampler(WeightedRandomSampler):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.urn = DiscreteAliasUrn(self.weights.numpy(), random_state=0)

    def __iter__(self):
        yield from self.urn.rvs(self.num_samples).tolist()


class Offers(Dataset):
    def __init__(self):
        self.columns = torch.zeros(100_000, COLUMNS)

    def __len__(self):
        return OFFERS

    def __getitems__(self, indices):
        return self.columns[torch.tensor(indices) % 100_000]


class Ranker:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, rows):
        self.gpu.copy(rows.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.0011, "embeddings, towers")
        self.gpu.launch(0.0019, "bce, backward, adagrad")


def build_loader(weights):
    sampler = (AliasSampler if FIX else WeightedRandomSampler)(weights, DRAWN, replacement=True)
    return DataLoader(Offers(), BATCH, sampler=sampler, collate_fn=lambda rows: rows)


def main():
    torch.set_num_threads(1)
    gpu, samples, epoch = Device(spin=False), 0, 0
    model = Ranker(gpu)
    loader = build_loader(torch.rand(OFFERS, dtype=torch.float64) ** 4 + 1e-6)
    while not over():
        for rows in loader:
            model.step(rows)
            samples += len(rows)
        epoch += 1
        print(f"epoch {epoch}: auc {gpu.item():.4f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
