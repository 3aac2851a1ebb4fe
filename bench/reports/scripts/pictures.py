"""Pictures of the outputs are compressed and written in each step (Project-Strix/Strix#56)."""

import os
import tempfile

import numpy
import torch
from common import FIX, done, over
from PIL import Image
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Volumes(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        return torch.zeros(1, 64, 64)


def dump_images(folder, step, outputs):
    for n, output in enumerate(outputs):
        Image.fromarray(output).save(os.path.join(folder, f"{step % 10}-{n}.png"))


def main():
    gpu, noise = Device(), numpy.random.default_rng(0).integers(0, 255, (2, 256, 256, 3), numpy.uint8)
    loader = DataLoader(Volumes(), batch_size=8, num_workers=1, pin_memory=True)
    samples = 0
    with tempfile.TemporaryDirectory() as folder:
        for step, batch in enumerate(loader):
            gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.015, "step")
            if not FIX or step % 200 == 0:
                gpu.item()
                dump_images(folder, step, noise)
            samples += len(batch)
            if over():
                break
        done(gpu, samples)


if __name__ == "__main__":
    main()
