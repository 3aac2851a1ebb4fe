"""The joints of people in pictures are found; targets are a map for each joint and two for each limb."""

# https://github.com/donnyyou/torchcv/issues/4
# Cause: the training loop makes the maps of a batch itself, on the CPU, point by point, after the batch came from the loader.
# Fix: fast generators ("Now the GT map generators are so fast"). In the workers of the loader it would be as right.
# Line: 21, 28 to 38, 44, 55 to 64, 87 to 88: HeatmapGenerator and PafGenerator, called in train.

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

GRID, STRIDE, JOINTS, SIGMA, WIDTH, BATCH, PEOPLE = 46, 8, 18, 7.0, 1.0, 8, 2
LIMBS = [(1, j) for j in (0, 2, 5, 8, 11)] + [(2, 3), (3, 4), (5, 6), (6, 7), (8, 9), (9, 10), (11, 12), (12, 13)]
Y, X = numpy.mgrid[:GRID, :GRID].astype(numpy.float32)


class HeatmapGenerator:
    def __call__(self, kpts):
        maps = numpy.zeros((len(kpts), JOINTS + 1, GRID, GRID), numpy.float32)
        if FIX:
            centre = (numpy.arange(GRID) + 0.5) * STRIDE - 0.5
            gx, gy = (numpy.exp(-((centre - kpts[..., side, None]) ** 2) / (2 * SIGMA**2)) for side in (0, 1))
            maps[:, :JOINTS] = (gy[..., :, None] * gx[..., None, :]).max(1)
            maps[:, JOINTS] = 1 - maps[:, :JOINTS].max(1)
            return maps
        for picture, people in enumerate(kpts):
            for person in people:
                for joint, (x, y) in enumerate(person):
                    for row in range(GRID):
                        dy = (row + 0.5) * STRIDE - 0.5 - y
                        if abs(dy) > 4.6 * SIGMA:
                            continue
                        dx = (X[row] + 0.5) * STRIDE - 0.5 - x
                        value = numpy.exp(-(dx * dx + dy * dy) / (2 * SIGMA**2))
                        maps[picture, joint, row] = numpy.maximum(maps[picture, joint, row], value)
            maps[picture, JOINTS] = 1 - maps[picture, :JOINTS].max(0)
        return maps


class PafGenerator:
    def __call__(self, kpts):
        maps = numpy.zeros((len(kpts), 2 * len(LIMBS), GRID, GRID), numpy.float32)
        if FIX:
            for limb, (start, end) in enumerate(LIMBS):
                a, b = kpts[:, :, start] / STRIDE, kpts[:, :, end] / STRIDE
                long = numpy.linalg.norm(b - a, axis=-1)[..., None, None] + 1e-6
                ux, uy = ((b - a)[..., side, None, None] / long for side in (0, 1))
                dx, dy = X - a[..., 0, None, None], Y - a[..., 1, None, None]
                along, across = dx * ux + dy * uy, numpy.abs(dx * uy - dy * ux)
                on = (along >= 0) & (along <= long) & (across <= WIDTH)
                maps[:, 2 * limb], maps[:, 2 * limb + 1] = (on * ux).max(1), (on * uy).max(1)
            return maps
        for picture, people in enumerate(kpts):
            for person in people / STRIDE:
                for limb, (start, end) in enumerate(LIMBS):
                    a, b = person[start], person[end]
                    long = float(numpy.hypot(*(b - a))) + 1e-6
                    ux, uy = (b - a) / long
                    for row in range(max(int(min(a[1], b[1]) - WIDTH), 0), min(int(max(a[1], b[1]) + WIDTH) + 1, GRID)):
                        dx, dy = X[row] - a[0], row - a[1]
                        on = (numpy.abs(dx * uy - dy * ux) <= WIDTH) & (dx * ux + dy * uy >= 0) & (dx * ux + dy * uy <= long)
                        maps[picture, 2 * limb, row, on], maps[picture, 2 * limb + 1, row, on] = ux, uy
        return maps


class CocoPose(Dataset):
    def __init__(self, count=4000):
        draw = numpy.random.default_rng(0)
        middle = draw.uniform(100, 260, (count, PEOPLE, 1, 2))
        self.kpts = numpy.clip(middle + draw.normal(0, 45, (count, PEOPLE, JOINTS, 2)), 0, 367)
        self.image = torch.zeros(3, 368, 368, dtype=torch.uint8)

    def __len__(self):
        return len(self.kpts)

    def __getitem__(self, i):
        return self.image, torch.from_numpy(self.kpts[i])


class OpenPose:
    def __init__(self, gpu):
        self.gpu, self.heatmap_generator, self.paf_generator = gpu, HeatmapGenerator(), PafGenerator()

    def train(self, images, kpts):
        heatmap = self.heatmap_generator(kpts.numpy())
        vecmap = self.paf_generator(kpts.numpy())
        self.gpu.copy(images.nbytes + heatmap.nbytes + vecmap.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.005, "vgg")
        for stage in range(6):
            self.gpu.launch(0.0014, f"stage {stage}")
        self.gpu.launch(0.0126, "mse, backward, adam")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    runner = OpenPose(gpu)
    loader = DataLoader(CocoPose(), BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for images, kpts in loader:
            runner.train(images, kpts)
            step, samples = step + 1, samples + len(images)
            if step % 20 == 0:
                print(f"Train Epoch: 0 Train Iteration: {step} Loss = {gpu.item():.8f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
