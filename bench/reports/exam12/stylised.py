"""A picture model learns the style of a few drawings by low rank; latents were written to disk before."""

# https://github.com/kohya-ss/sd-scripts/pull/120

import os
import tempfile
import time

import numpy
import torch
from accelerate import Accelerator
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

PICTURES, REPEATS, BATCH, LOOKUP = 90, 2, 4, 0.004


def write_latents(folder):
    draw = numpy.random.default_rng(0)
    for picture in range(PICTURES):
        numpy.savez(f"{folder}/{picture:03d}.npz", latents=draw.normal(size=(4, 64, 64)).astype(numpy.float32))
        with open(f"{folder}/{picture:03d}.txt", "w", encoding="utf-8") as file:
            file.write("a drawing, ink, " + ", ".join(f"tag{t}" for t in draw.integers(0, 500, 12)))


class DreamBoothDataset(Dataset):
    """Captions and latents of a folder; the disk is a slow one."""

    def __init__(self, folder):
        self.latents, self.captions = [], []
        for name in sorted(os.listdir(folder)):
            time.sleep(LOOKUP)
            path = os.path.join(folder, name)
            if name.endswith(".npz"):
                self.latents.append(torch.from_numpy(numpy.load(path)["latents"]))
            else:
                with open(path, encoding="utf-8") as file:
                    self.captions.append(file.read().split(", "))

    def __len__(self):
        return len(self.latents) * REPEATS

    def __getitem__(self, i):
        tags = self.captions[i % PICTURES]
        order = numpy.random.permutation(len(tags))
        ids = torch.tensor([len(tags[t]) for t in order])
        return self.latents[i % PICTURES], ids


class Lora:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, latents, ids):
        self.gpu.copy(latents.nbytes + ids.nbytes)
        self.gpu.launch(0.002, "text encoder")
        self.gpu.launch(0.021, "unet, backward, adamw 8 bit")


def load_train_data(folder):
    dataset = DreamBoothDataset(folder)
    return DataLoader(dataset, BATCH, shuffle=True, num_workers=1, persistent_workers=True)


def main():
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    gpu, samples, epoch = Device(spin=False, memory_used=8 << 30), 0, 0
    network = Lora(gpu)
    with tempfile.TemporaryDirectory() as folder:
        write_latents(folder)
        over()
        train_dataloader = load_train_data(folder)
        while not over():
            if epoch and not FIX:
                train_dataloader = load_train_data(folder)
            for latents, ids in train_dataloader:
                network.step(latents, ids)
                samples += len(latents)
                if over():
                    break
            epoch += 1
            accelerator.print(f"epoch {epoch}/4000, loss={gpu.item():.4f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
