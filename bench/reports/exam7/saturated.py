"""A residual network on two hundred thousand pictures; its reader has tried a loader that is ten times as fast."""

# https://github.com/NVIDIA/DALI/issues/892
# Cause: none: "most of processing time is spent on training model weights and therefore speeding up loading is not
#        significant": bound by training. Healthy.
# Fix: nothing to change (--fix has pictures that are decoded already, which gains nothing).
# Line: none.

import time

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __init__(self, count=200_000):
        picture = cv2.GaussianBlur(numpy.random.default_rng(0).integers(0, 255, (256, 256, 3), dtype=numpy.uint8), (0, 0), 3)
        self.jpeg, self.ready, self.count = cv2.imencode(".jpg", picture)[1], torch.zeros(3, 224, 224), count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if FIX:
            return self.ready, i % 1000
        picture = cv2.imdecode(self.jpeg, cv2.IMREAD_COLOR)
        top, left = numpy.random.randint(0, 32, 2)
        crop = picture[top : top + 224, left : left + 224, ::-1].astype(numpy.float32)
        return torch.from_numpy((crop / 255 - 0.45) / 0.225).permute(2, 0, 1), i % 1000


class AverageMeter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, value):
        self.sum, self.count = self.sum + value, self.count + 1


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu, samples, batch_time, end = Device(spin=False, memory_used=30 << 30), 0, AverageMeter(), time.time()
    loader = DataLoader(Pictures(), 16, shuffle=True, num_workers=2, pin_memory=True)
    for i, (pictures, labels) in enumerate(loader):
        gpu.copy(pictures.nbytes, pinned=True, non_blocking=True)
        gpu.copy(labels.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.13, "resnet152")
        gpu.launch(0.27, "backward, sgd")
        samples += len(labels)
        if i % 5 == 0:
            loss = gpu.item()
            batch_time.update((time.time() - end) / 5)
            end = time.time()
            print(f"[{i}/{len(loader)}] Time {batch_time.sum / batch_time.count:.3f} Loss {loss:.4f}", flush=True)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
