"""Accuracy is counted element by element in a for loop; LMDB was suspected (Lyken17/Efficient-PyTorch#18)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Signs(Dataset):
    def __len__(self):
        return 800_000

    def __getitem__(self, i):
        return torch.zeros(64), i % 40


class Meter:
    def __init__(self):
        self.right = [0] * 40
        self.seen = [0] * 40

    def update(self, output, target):
        predicted = output.argmax(1)
        for n in range(len(target)):
            for label in range(40):
                if target[n] == label:
                    self.seen[label] += 1
                    self.right[label] += int(predicted[n] == label)

    def update_at_once(self, output, target):
        hits = output.argmax(1) == target
        self.seen = torch.bincount(target, minlength=40)
        self.right = torch.bincount(target[hits], minlength=40)


def main():
    gpu, meter = Device(), Meter()
    loader = DataLoader(Signs(), batch_size=256, shuffle=True, num_workers=1, pin_memory=True, drop_last=True)
    samples, output = 0, torch.rand(256, 40)
    for images, target in loader:
        gpu.copy(images.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.01, "step")
        gpu.item()
        if FIX:
            meter.update_at_once(output, target)
        else:
            meter.update(output, target)
        samples += len(target)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
