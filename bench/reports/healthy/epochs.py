"""Epochs with a short, well fed validation and a checkpoint now and then: each a small part of the run."""

import os
import tempfile

import torch
from common import done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return torch.zeros(3, 32, 32)


def main():
    gpu, model = Device(), torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train = DataLoader(Pictures(1280), batch_size=16, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    val = DataLoader(Pictures(96), batch_size=16, num_workers=1, pin_memory=True, persistent_workers=True)
    samples = 0
    with tempfile.TemporaryDirectory() as folder:
        while not over():
            model.train()
            for x in train:
                gpu.copy(x.nbytes, pinned=True, non_blocking=True)
                gpu.launch(0.07, "forward, backward")
                optimizer.step()
                samples += len(x)
                if over():
                    break
            model.eval()
            with torch.no_grad():
                for x in val:
                    gpu.copy(x.nbytes, pinned=True, non_blocking=True)
                    gpu.launch(0.03, "forward")
            torch.save(model.state_dict(), os.path.join(folder, "last.pt"))
        done(gpu, samples)


if __name__ == "__main__":
    main()
