"""Predictions are matched in 52 calls a step, each with separate copies, and not in one (mindee/doctr#2141)."""

import numpy
import torch
from common import FIX, done, over
from scipy.optimize import linear_sum_assignment
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

GROUPS, LAYERS, QUERIES = 13, 4, 30


class Pages(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        return torch.zeros(3, 64, 64), torch.rand(6, 5)


def pairwise_cost(logits, boxes, targets):
    distance = (boxes[..., :, None, :] - targets[..., None, :, :4]).abs().sum(-1)
    return distance - logits[..., :, None]


class LWDETR:
    def __init__(self, gpu):
        self.gpu = gpu
        self.logits, self.boxes = torch.rand(GROUPS * LAYERS, 4, QUERIES), torch.rand(GROUPS * LAYERS, 4, QUERIES, 4)

    def match(self, costs):
        return [linear_sum_assignment(cost) for cost in costs]

    def compute_loss(self, number, targets):
        """The loss of one set of predictions."""
        self.gpu.copy(targets.nbytes)
        losses = []
        for sample, target in enumerate(targets):
            cost = pairwise_cost(self.logits[number, sample], self.boxes[number, sample], target)
            self.gpu.item()  # .cpu()
            (rows, columns), = self.match([cost.numpy()])
            rows, columns = torch.from_numpy(rows), torch.from_numpy(columns)
            self.gpu.copy(rows.nbytes)
            matched = self.boxes[number, sample][rows] - target[columns][:, :4]
            losses.append(matched.abs().sum() + torch.sigmoid(self.logits[number, sample][rows]).sum())
            self.gpu.launch(0.00003, "loss")
        return torch.stack(losses).sum()

    def compute_sets_loss(self, targets):
        """The loss of all sets, with one copy there and back."""
        self.gpu.copy(targets.nbytes)
        costs = pairwise_cost(self.logits, self.boxes, targets)
        self.gpu.launch(0.001, "costs")
        self.gpu.item()  # .cpu()
        pairs = self.match(costs.flatten(0, 1).numpy())
        rows = torch.from_numpy(numpy.stack([rows for rows, _ in pairs]))
        columns = torch.from_numpy(numpy.stack([columns for _, columns in pairs]))
        self.gpu.copy(rows.nbytes + columns.nbytes)
        boxes = self.boxes.flatten(0, 1).gather(1, rows[..., None].expand(-1, -1, 4))
        wanted = targets[None].expand(GROUPS * LAYERS, -1, -1, -1).flatten(0, 1)[..., :4].gather(1, columns[..., None].expand(-1, -1, 4))
        self.gpu.launch(0.001, "loss")
        return (boxes - wanted).abs().sum() + torch.sigmoid(self.logits.flatten(0, 1).gather(1, rows)).sum()

    def forward(self, images, targets):
        self.gpu.copy(images.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.015, "backbone, decoder")
        if FIX:
            return self.compute_sets_loss(targets)
        return sum(self.compute_loss(number, targets) for number in range(GROUPS * LAYERS))


def main():
    torch.set_num_threads(1)
    gpu = Device()
    model = LWDETR(gpu)
    loader = DataLoader(Pages(), batch_size=4, shuffle=True, num_workers=1, pin_memory=True)
    samples = 0
    for images, targets in loader:
        model.forward(images, targets)
        gpu.launch(0.015, "backward")
        samples += len(images)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
