"""Cars are found in the points of a lidar, seen from above by a small network."""

# https://github.com/matssteinweg/PIXOR/issues/1

import time

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

HEIGHT, LENGTH, LEVELS, BATCH, POINTS, READ = 120, 108, 36, 4, 6_000, 0.011


def voxelize(point_cloud):
    """Cells that a point lies in, and in the last channel how much light came back."""
    voxels = numpy.zeros((HEIGHT, LENGTH, LEVELS))
    x = numpy.clip(((point_cloud[:, 0] + 40) * 1.5).astype(int), 0, HEIGHT - 1)
    y = numpy.clip((point_cloud[:, 1] * 1.5).astype(int), 0, LENGTH - 1)
    for level in range(LEVELS - 1):
        inside = (point_cloud[:, 2] >= -2.5 + 0.1 * level) & (point_cloud[:, 2] < -2.4 + 0.1 * level)
        voxels[x[inside], y[inside], level] = 1
    counts = numpy.zeros((HEIGHT, LENGTH))
    numpy.add.at(counts, (x, y), 1)
    numpy.add.at(voxels[..., -1], (x, y), point_cloud[:, 3])
    voxels[..., -1] /= numpy.maximum(counts, 1)
    return voxels


class PointCloudDataset(Dataset):
    def __init__(self, count=3000):
        draw = numpy.random.default_rng(0)
        low, high = [-40, 0, -2.5, 0], [40, 70.4, 1, 1]
        self.scans = [draw.uniform(low, high, (POINTS, 4)).astype(numpy.float32) for _ in range(12)]
        self.boxes = [draw.uniform(5, 35, (6, 2)) for _ in range(12)]
        self.count = count

    def __len__(self):
        return self.count

    def load_velo_scan(self, i):
        """A file of some megabytes on a hard disk."""
        time.sleep(READ)
        return self.scans[i % 12]

    def __getitem__(self, i):
        voxels = voxelize(self.load_velo_scan(i))
        target = numpy.zeros((HEIGHT // 4, LENGTH // 4, 7), numpy.float32)
        for x, y in self.boxes[i % 12].astype(int):
            target[x : x + 3, y : y + 5] = 1
        if FIX:
            return torch.from_numpy(voxels.astype(numpy.float32)), torch.from_numpy(target)
        return torch.tensor(voxels, requires_grad=True).float().detach(), torch.tensor(target)


class PIXOR:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, voxels, target):
        self.gpu.copy(voxels.nbytes + target.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.007, "backbone, header")
        self.gpu.launch(0.012, "focal loss, smooth l1, backward, adam")
        return self.gpu.item()


def train_model(model, loader):
    samples = step = 0
    while not over():
        for voxels, target in loader:
            loss = model.step(voxels, target)
            step, samples = step + 1, samples + len(voxels)
            if step % 25 == 0:
                print(f"Epoch 1 | batch {step}/750 | training loss: {loss:.4f}", flush=True)
            if over():
                break
    return samples


def main():
    torch.set_num_threads(1)
    gpu, dataset = Device(spin=False), PointCloudDataset()
    workers = {"num_workers": 4, "persistent_workers": True} if FIX else {}
    loader = DataLoader(dataset, BATCH, shuffle=True, pin_memory=True, **workers)
    done(gpu, train_model(PIXOR(gpu), loader))


if __name__ == "__main__":
    main()
