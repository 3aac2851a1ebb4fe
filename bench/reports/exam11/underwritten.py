"""A model of numbers and categories predicts who will repay a loan."""

# https://github.com/sb-ai-lab/LightAutoML/pull/175

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

ROWS, NUMBERS, CATEGORIES, BATCH = 200_000, 40, 24, 1024
MAPPING = {"label": numpy.float32, "cont": numpy.float32, "cat": numpy.int64}


class UniversalDataset(Dataset):
    """Columns of a few kinds, each an array."""

    def __init__(self):
        draw = numpy.random.default_rng(0)
        self.data = {
            "cont": draw.normal(size=(ROWS, NUMBERS)).astype(numpy.float32),
            "cat": draw.integers(0, 100, (ROWS, CATEGORIES)),
        }
        self.y = (draw.random(ROWS) < 0.1).astype(numpy.float32)

    def __len__(self):
        return ROWS

    def __getitem__(self, index):
        row = {"label": self.y[index]}
        for key, value in self.data.items():
            row[key] = value[index]
        return row


class BatchedDataset(UniversalDataset):
    def __getitems__(self, indices):
        return {"label": self.y[indices], **{key: value[indices] for key, value in self.data.items()}}


def collate_dict(batch):
    """Lists of rows, or a batch already, as tensors of the kinds that are wanted."""
    if isinstance(batch, dict):
        return {key: torch.from_numpy(value.astype(MAPPING[key])) for key, value in batch.items()}
    keys = batch[0].keys()
    return {key: torch.from_numpy(numpy.array([row[key] for row in batch]).astype(MAPPING[key])) for key in keys}


class DenseLightModel:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, batch):
        self.gpu.copy(sum(part.nbytes for part in batch.values()), pinned=True, non_blocking=True)
        self.gpu.launch(0.0004, "embeddings, dense layers")
        self.gpu.launch(0.0009, "bce, backward, adam")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    model, dataset = DenseLightModel(gpu), BatchedDataset() if FIX else UniversalDataset()
    loader = DataLoader(dataset, BATCH, shuffle=True, collate_fn=collate_dict, pin_memory=True)
    while not over():
        for batch in loader:
            model.step(batch)
            step, samples = step + 1, samples + len(batch["label"])
            if step % 100 == 0:
                print(f"Epoch: 0, step: {step}, train loss: {gpu.item():.5f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
