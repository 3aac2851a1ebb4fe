"""Pictures of each batch are summarised inside the validation loop (victoresque/pytorch-template#60)."""

import io
import struct
import tempfile

import torch
from common import FIX, done, over
from PIL import Image
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset
from torchvision.utils import make_grid


class Digits(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return torch.zeros(1, 96, 96)


class Writer:
    def __init__(self, file):
        self.file = file

    def add_image(self, picture):
        buffer = io.BytesIO()
        Image.fromarray((picture * 255).byte().permute(1, 2, 0).numpy()).save(buffer, "PNG")
        self.file.seek(0)
        self.file.write(struct.pack("<q", buffer.tell()) + buffer.getvalue())


@torch.no_grad()
def valid_epoch(gpu, model, loader, writer, noise):
    model.eval()
    for batch in loader:
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.006, "forward")
        gpu.item()
        if not FIX:
            writer.add_image(make_grid(noise, nrow=8, normalize=True))
        if over():
            break
    model.train()


def main():
    torch.set_num_threads(1)
    gpu, model, noise = Device(), torch.nn.Linear(4, 4), torch.rand(32, 1, 96, 96)
    train = DataLoader(Digits(3200), 32, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    valid = DataLoader(Digits(1600), 32, num_workers=1, pin_memory=True, persistent_workers=True)
    samples = 0
    with tempfile.TemporaryFile() as file:
        while not over():
            for batch in train:
                gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
                gpu.launch(0.012, "step")
                samples += len(batch)
                if over():
                    break
            valid_epoch(gpu, model, valid, Writer(file), noise)
        done(gpu, samples)


if __name__ == "__main__":
    main()
