"""Predictions and targets are matched by SciPy on the CPU in each step (ybarancan/STSU#11, facebookresearch/detr#562)."""

import numpy
import torch
from common import FIX, done, over
from scipy.optimize import linear_sum_assignment
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Scenes(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        return torch.zeros(3, 64, 64)


class Matcher:
    def __init__(self, gpu):
        self.gpu, self.draw = gpu, numpy.random.default_rng(0)

    def __call__(self, images, queries, targets):
        self.gpu.item()  # costs.cpu()
        costs = self.draw.random((images, queries, targets))
        return [linear_sum_assignment(cost) for cost in costs]

    def on_device(self):
        self.gpu.launch(0.003, "assignment")


def main():
    gpu = Device()
    matcher = Matcher(gpu)
    loader = DataLoader(Scenes(), batch_size=8, shuffle=True, num_workers=1, pin_memory=True)
    samples = 0
    for batch in loader:
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.01, "forward")
        if FIX:
            matcher.on_device()
        else:
            matcher(len(batch), 300, 250)
        gpu.launch(0.01, "losses, backward")
        samples += len(batch)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
