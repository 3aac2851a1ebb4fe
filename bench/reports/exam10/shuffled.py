"""Small pictures of ten kinds are learned in a few epochs, as fast as can be; all are in memory."""

# https://github.com/tinygrad/tinygrad/pull/3216
# Cause: the order of all 50,000 pictures is shuffled again for each batch of some hundred, in the training loop.
# Fix: shuffle at the start of an epoch only.
# Line: 25, 55: random.shuffle in fetch_batches.

import random

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

PICTURES, BATCH = 50_000, 512


def fetch_batches(images, labels, batch_size, is_train):
    while True:
        order = list(range(len(labels)))
        if FIX and is_train:
            random.shuffle(order)
        for start in range(0, len(labels) - batch_size + 1, batch_size):
            if is_train and not FIX:
                random.shuffle(order)
            chosen = sorted(order[start : start + batch_size])
            yield images[chosen], labels[chosen]
        if not is_train:
            break


class SpeedyResNet:
    def __init__(self, gpu):
        self.gpu = gpu

    def train_step(self, images, labels):
        self.gpu.copy(images.nbytes + labels.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.0003, "flip, crop, cutmix")
        self.gpu.launch(0.0027, "speedy resnet")
        self.gpu.launch(0.0060, "label smoothing, backward, sgd")

    def eval_step(self, images, labels):
        self.gpu.copy(images.nbytes + labels.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.0042, "speedy resnet")


def main():
    torch.set_num_threads(1)
    random.seed(0)
    gpu, samples, step = Device(spin=False), 0, 0
    images = numpy.zeros((PICTURES, 3, 32, 32), numpy.uint8)
    labels = numpy.random.default_rng(0).integers(0, 10, PICTURES)
    model, batcher = SpeedyResNet(gpu), fetch_batches(images, labels, BATCH, is_train=True)
    while not over():
        x, y = next(batcher)
        model.train_step(x, y)
        step, samples = step + 1, samples + len(y)
        if step % 600 == 0:
            for x, y in fetch_batches(images[:5120], labels[:5120], BATCH, is_train=False):
                model.eval_step(x, y)
            print(f"eval     {gpu.item():.2f}%, STEP={step}", flush=True)
        elif step % 50 == 0:
            print(f"{step:3d} {gpu.item():7.2f} loss, {0.004:.6f} LR", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
