"""Boxes around things: a small darknet, trained by hand."""

import os
import tempfile

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch import nn
from torch.utils.data import DataLoader, Dataset


class ListDataset(Dataset):
    def __init__(self, count=3200, size=104):
        self.count, self.size = count, size

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return torch.full((3, self.size, self.size), i % 9, dtype=torch.float32), torch.zeros(20, 5)


class Darknet(nn.Module):
    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.seen = gpu, 0
        self.module_list = nn.ModuleList(nn.Linear(1000, 1000) for _ in range(16))

    def forward(self, imgs, targets):
        self.gpu.copy(imgs.nbytes + targets.nbytes, pinned=True, non_blocking=True)
        for n in range(0, 106, 2):
            self.gpu.launch(0.00025, f"conv {n}")
        self.seen += len(imgs)

    def backward(self):
        for n in reversed(range(0, 106, 2)):
            self.gpu.launch(0.0005, f"conv {n} backward")
        self.gpu.launch(0.002, "adam")


class Options:
    epochs, checkpoint_interval, batch_size, n_cpu = 1000, 1, 8, 1


def train(gpu, opt, folder):
    model, samples = Darknet(gpu), 0
    dataloader = DataLoader(
        ListDataset(), opt.batch_size, shuffle=True, num_workers=opt.n_cpu, pin_memory=True, persistent_workers=True
    )
    for epoch in range(opt.epochs):
        saved = False
        for batch_i, (imgs, targets) in enumerate(dataloader):
            model(imgs, targets)
            model.backward()
            samples += len(imgs)
            if batch_i % 20 == 0:
                print(f"[epoch {epoch}, batch {batch_i}] loss {gpu.item():.4f}", flush=True)
            if epoch % opt.checkpoint_interval == 0 and not (FIX and saved):
                gpu.item()  # weights come to the host
                torch.save(model.state_dict(), os.path.join(folder, f"yolov3_ckpt_{epoch}.pth"))
                saved = True
            if over():
                return samples
    return samples


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    with tempfile.TemporaryDirectory() as folder:
        done(gpu, train(gpu, Options, folder))


if __name__ == "__main__":
    main()
