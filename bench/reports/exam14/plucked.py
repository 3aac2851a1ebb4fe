"""Kinds of flowers are learned from pictures; after each batch the accuracy so far is updated."""

# https://github.com/apache/mxnet/issues/2228

import time

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

BATCH, SIDE, FREQUENT = 32, 112, 20


class ImageRecordIter(Dataset):
    def __init__(self, count=25_080):
        self.record, self.count = torch.zeros(3, SIDE, SIDE, dtype=torch.uint8), count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.record, i % 102


class Accuracy:
    def __init__(self):
        self.right, self.count = 0.0, 0

    def update(self, labels, right):
        self.right, self.count = self.right + right, self.count + len(labels)


class VGG:
    def __init__(self, gpu):
        self.gpu = gpu

    def forward_backward(self, data):
        self.gpu.copy(data.nbytes, pinned=True, non_blocking=True)
        for block in range(5):
            self.gpu.launch(0.0055, f"convolutions {block}")
        self.gpu.launch(0.072, "backward")
        self.gpu.launch(0.004, "sgd")

    def update_metric(self, metric, labels):
        metric.update(labels, self.gpu.item())


def main():
    torch.set_num_threads(1)
    gpu, samples, step, spent = Device(spin=False, memory_used=9 << 30), 0, 0, 0.0
    module, metric = VGG(gpu), Accuracy()
    loader = DataLoader(ImageRecordIter(), BATCH, shuffle=True, num_workers=1, persistent_workers=True)
    began = time.monotonic()
    while not over():
        for data, labels in loader:
            module.forward_backward(data)
            before = time.monotonic()
            if not FIX or step % FREQUENT == 0:
                module.update_metric(metric, labels)
            spent += time.monotonic() - before
            step, samples = step + 1, samples + len(data)
            if step % FREQUENT == 0:
                share = spent / (time.monotonic() - began)
                accuracy = metric.right / metric.count
                print(f"Batch [{step}] accuracy={accuracy:.4f} update_metric {share:.0%}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
