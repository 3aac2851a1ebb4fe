"""Prototypes of the loss are updated sample by sample, each with a read from the device (xuhuihuang/ts-dar#1)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Frames(Dataset):
    def __len__(self):
        return 500_000

    def __getitem__(self, i):
        return torch.zeros(4)


class DisLoss:
    def __init__(self, gpu, momentum=0.9):
        self.gpu, self.momentum = gpu, momentum
        self.prototypes = {n: 0.0 for n in range(4)}

    def update(self, label):
        """prototypes[label] = normalize(prototypes[label] * momentum + feature * (1 - momentum))"""
        for name in ("index", "mul", "add", "norm", "div", "index_put"):
            self.gpu.launch(0.000004, name)
        self.prototypes[label] *= self.momentum

    def forward(self, features):
        if FIX:
            for name in ("one_hot", "mm", "lerp", "norm", "div"):
                self.gpu.launch(0.00005, name)
        else:
            for j in range(len(features)):
                self.update(int(self.gpu.item()))
        self.gpu.launch(0.0005, "logits, dispersion")


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(), 0
    disloss = DisLoss(gpu)
    loader = DataLoader(Frames(), batch_size=200, shuffle=True, num_workers=1, pin_memory=True)
    for features in loader:
        gpu.copy(features.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.004, "forward")
        disloss.forward(features)
        gpu.launch(0.004, "backward, step")
        samples += len(features)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
