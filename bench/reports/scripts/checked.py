"""Validation every 20 steps, each time with new workers (Lightning-AI/pytorch-lightning#434)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Digits(Dataset):
    def __len__(self):
        return 60_000

    def __getitem__(self, i):
        return torch.zeros(1, 28, 28)


@torch.no_grad()
def run_validation(gpu, model, loader):
    model.eval()
    for number, batch in enumerate(loader):
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.005, "forward")
        if number == 3:
            break
    gpu.item()
    model.train()


def main():
    gpu, model = Device(), torch.nn.Linear(4, 4)
    train = DataLoader(Digits(), batch_size=32, shuffle=True, num_workers=1, pin_memory=True)
    val = DataLoader(Digits(), batch_size=32, num_workers=6, pin_memory=True, persistent_workers=FIX)
    samples = 0
    for step, batch in enumerate(train):
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.02, "step")
        samples += len(batch)
        if step % 20 == 19:
            run_validation(gpu, model, val)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
