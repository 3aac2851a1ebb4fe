"""The record of each sample, masks and all, is copied deeply (facebookresearch/detectron2#939, TorchIO#1305)."""

import copy

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Instances(Dataset):
    def __init__(self):
        polygon = [[float(x), float(x + 1)] for x in range(40)]
        self.records = [
            {"file": f"{n}.jpg", "annotations": [{"box": [0, 0, 9, 9], "polygon": [list(p) for p in polygon]} for _ in range(8)]}
            for n in range(200)
        ]

    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        record = self.records[i % 200]
        if not FIX:
            record = copy.deepcopy(record)
        return torch.zeros(3, 32, 32) + len(record["annotations"])


def main():
    gpu = Device()
    loader = DataLoader(Instances(), batch_size=16, shuffle=True, num_workers=1, pin_memory=True)
    samples = 0
    for batch in loader:
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.012, "step")
        samples += len(batch)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
