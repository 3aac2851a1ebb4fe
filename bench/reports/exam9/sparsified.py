"""The depth of rooms is learned from pictures and a hundred known points."""

# https://github.com/fangchangma/sparse-to-dense.pytorch/issues/4
# Cause: none: batches are already loaded ahead ("quite a standard thing to do"), and "the GPU utilization is rather high".
# Fix: nothing to change (--fix has two workers, which gains nothing).
# Line: none.

import tempfile

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

OUTPUT, BATCH, POINTS = (228, 304), 8, 100


class UniformSampling:
    """Keeps some of the known depths."""

    def __init__(self, num_samples):
        self.num_samples = num_samples

    def dense_to_sparse(self, depth):
        probability = self.num_samples / numpy.count_nonzero(depth)
        return numpy.where(numpy.random.random(depth.shape) < probability, depth, 0)


class NYUDataset(Dataset):
    """Files of a picture and its depth, as frames of a film."""

    def __init__(self, folder, count=4800, files=16):
        self.folder, self.count, self.files, self.sparsifier = folder, count, files, UniformSampling(POINTS)
        draw = numpy.random.default_rng(0)
        room = cv2.GaussianBlur(draw.integers(0, 255, (480, 700, 3), dtype=numpy.uint8), (0, 0), 6)
        far = numpy.linspace(4, 1, 480)[:, None] * numpy.ones(640)
        for number in range(files):
            depth = (far + 0.02 * number).astype(numpy.float32)
            numpy.savez(f"{folder}/{number:05}.npz", rgb=room[:, number : number + 640], depth=depth)

    def __len__(self):
        return self.count

    def train_transform(self, rgb, depth):
        scale, flip = numpy.random.uniform(1.0, 1.5), numpy.random.random() < 0.5
        size = (int(304 * scale) + 1, int(228 * scale) + 1)
        rgb, depth = (cv2.resize(a, size, interpolation=cv2.INTER_NEAREST) for a in (rgb, depth / scale))
        top, left = (size[1] - OUTPUT[0]) // 2, (size[0] - OUTPUT[1]) // 2
        rgb, depth = (a[top : top + OUTPUT[0], left : left + OUTPUT[1]] for a in (rgb, depth))
        return (rgb[:, ::-1], depth[:, ::-1]) if flip else (rgb, depth)

    def __getitem__(self, index):
        with numpy.load(f"{self.folder}/{index % self.files:05}.npz") as file:
            rgb, depth = self.train_transform(file["rgb"], file["depth"])
        sparse = self.sparsifier.dense_to_sparse(depth)
        rgbd = numpy.concatenate([rgb.astype(numpy.float32) / 255, sparse[..., None].astype(numpy.float32)], -1)
        return torch.from_numpy(rgbd).permute(2, 0, 1).contiguous(), torch.from_numpy(depth.astype(numpy.float32))


def train(loader, gpu, epoch):
    samples = 0
    for i, (rgbd, target) in enumerate(loader, 1):
        gpu.copy(rgbd.nbytes + target.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.14, "resnet 50, decoder")
        gpu.launch(0.28, "masked l1, backward, sgd")
        samples += len(target)
        if i % 10 == 0:
            print(f"Train Epoch: {epoch} [{i}/{len(loader)}] Loss={gpu.item():.5f}", flush=True)
        if over():
            break
    return samples


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu, samples, epoch = Device(spin=False, memory_used=11 << 30), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        dataset, workers = NYUDataset(folder), 2 if FIX else 1
        loader = DataLoader(dataset, BATCH, shuffle=True, num_workers=workers, pin_memory=True, persistent_workers=True)
        while not over():
            samples += train(loader, gpu, epoch)
            epoch += 1
        done(gpu, samples)


if __name__ == "__main__":
    main()
