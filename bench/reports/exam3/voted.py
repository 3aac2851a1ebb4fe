"""Scenes are parsed from text and projected again in each epoch (qq456cvb/VoteNet#7)."""

import glob
import os
import pickle
import random
import shutil
import tempfile

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, IterableDataset

FOLDER = os.path.join(tempfile.gettempdir(), "stoker-exam3-sunrgbd")
CACHE = os.path.join(FOLDER, "cache")
AUGMENT_X, POINT_NUM = 2, 1500


def make_files(count=60, points=4000):
    os.makedirs(FOLDER, exist_ok=True)
    shutil.rmtree(CACHE, ignore_errors=True)
    os.makedirs(CACHE)
    for n in range(count):
        path = os.path.join(FOLDER, f"{n:06d}.txt")
        if not os.path.exists(path):
            numpy.savetxt(path, numpy.random.default_rng(n).random((points, 6)), fmt="%.5f")


class SunObjects:
    def __init__(self):
        self.samples = sorted(glob.glob(os.path.join(FOLDER, "*.txt")))

    def get_depth(self, idx):
        return numpy.loadtxt(self.samples[idx], dtype=numpy.float32)

    def get_label_objects(self, idx):
        return [{"box": (0.1 * n, 0.1 * n + 0.3), "class": (idx + n) % 10} for n in range(6)]


class MyDataFlow(IterableDataset):
    def __init__(self, cache_dir):
        self.dataset, self.cache_dir = SunObjects(), cache_dir

    def augmented(self, idx):
        points = self.dataset.get_depth(idx)
        points = points[numpy.random.choice(len(points), POINT_NUM, replace=False)]
        boxes = []
        for found in self.dataset.get_label_objects(idx):
            low, high = found["box"]
            inside = points[(points[:, 0] > low) & (points[:, 0] < high)]
            boxes.append([*inside[:, :3].mean(0), *inside[:, :3].std(0), found["class"]])
        angle = numpy.random.uniform(-0.1, 0.1)
        turn = numpy.array([[numpy.cos(angle), -numpy.sin(angle)], [numpy.sin(angle), numpy.cos(angle)]], numpy.float32)
        points[:, [0, 2]] = points[:, [0, 2]] @ turn.T
        return points[:, :3] * numpy.float32(numpy.random.uniform(0.9, 1.1)), numpy.array(boxes, numpy.float32)

    def cached(self, idx):
        path = os.path.join(self.cache_dir, f"data{idx}_{random.randrange(AUGMENT_X)}.npy")
        if os.path.exists(path):
            with open(path, "rb") as file:
                return pickle.load(file)
        scene = self.augmented(idx)
        with open(path, "wb") as file:
            pickle.dump(scene, file)
        return scene

    def __iter__(self):
        order = list(range(len(self.dataset.samples)))
        while True:
            random.shuffle(order)
            for idx in order:
                yield self.cached(idx) if self.cache_dir else self.augmented(idx)


def main():
    torch.set_num_threads(1)
    make_files()
    gpu, samples = Device(), 0
    loader = DataLoader(MyDataFlow(CACHE if FIX else None), batch_size=8, num_workers=1, pin_memory=True)
    for points, boxes in loader:
        gpu.copy(points.nbytes + boxes.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.015, "backbone, votes, proposals, backward")
        samples += len(points)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
