"""Goods on the shelves of shops are found by queries; each query is given the thing that fits it best."""

# https://github.com/ultralytics/ultralytics/pull/26150

import numpy
import torch
from common import FIX, done, over
from scipy.optimize import linear_sum_assignment
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

BATCH, QUERIES, GOODS, SETS, SIDE = 8, 300, 140, 3, 320


class Sku110K(Dataset):
    def __init__(self, count=20_000):
        generator = torch.Generator().manual_seed(0)
        self.image = torch.randint(0, 255, (3, SIDE, SIDE), dtype=torch.uint8, generator=generator)
        self.boxes, self.count = torch.rand(GOODS + 40, 4, generator=generator), count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.image, self.boxes[: GOODS - 40 + i % 80]


def collate(samples):
    images, boxes = zip(*samples, strict=True)
    return torch.stack(images), list(boxes)


class HungarianMatcher:
    def __init__(self, gpu):
        self.gpu = gpu
        self.cost = numpy.random.default_rng(0).random((BATCH, QUERIES, BATCH * (GOODS + 40)), dtype=numpy.float32)

    def cost_matrix(self, columns):
        """Class, distance and overlap of each query with each box; then to the host."""
        self.gpu.launch(0.0004, "focal, l1, giou")
        cost = self.cost[:, :, :columns]
        self.gpu.copy(cost.nbytes)
        cost = cost + numpy.float32(0.1)
        cost[~numpy.isfinite(cost)] = 0.0
        return cost

    def __call__(self, counts):
        if FIX:
            blocks = self.cost_matrix(max(counts))
            return [linear_sum_assignment(block[:, :count]) for block, count in zip(blocks, counts, strict=True)]
        cost, ends = self.cost_matrix(sum(counts)), numpy.cumsum(counts)
        return [linear_sum_assignment(c[i]) for i, c in enumerate(numpy.split(cost, ends[:-1], -1))]


class RTDETRTrainer:
    def __init__(self, gpu):
        self.gpu, self.matcher = gpu, HungarianMatcher(gpu)

    def step(self, images, boxes):
        self.gpu.copy(images.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.0145, "backbone, encoder, decoder")
        counts = [len(b) for b in boxes]
        for layer in range(SETS):
            pairs = self.matcher(counts)
            self.gpu.copy(sum(rows.nbytes + columns.nbytes for rows, columns in pairs))
            self.gpu.launch(0.0006, f"losses {layer}")
        self.gpu.launch(0.0262, "backward, adamw")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=15 << 30), 0, 0
    trainer = RTDETRTrainer(gpu)
    options = {"num_workers": 1, "pin_memory": True, "persistent_workers": True, "collate_fn": collate}
    loader = DataLoader(Sku110K(), BATCH, shuffle=True, **options)
    while not over():
        for images, boxes in loader:
            trainer.step(images, boxes)
            step, samples = step + 1, samples + len(images)
            if step % 20 == 0:
                print(f"1/100  15G  giou_loss {gpu.item():.3f}  Instances {sum(map(len, boxes))}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
