"""Clips are made from words; films come in many shapes, and those of a batch have about one."""

# https://github.com/aigc-apps/EasyAnimate/issues/64

import json
import os
import tempfile
import time

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset, RandomSampler

VIDEOS, BATCH, FRAMES, OPEN = 600, 4, 8, 0.007
RATIOS = {"0.56": (64, 112), "1.0": (84, 84), "1.78": (112, 64)}


def film(folder):
    """Films as small files: a line that says what they are, then frames."""
    draw, names = numpy.random.default_rng(0), []
    for video in range(VIDEOS):
        height, width = list(RATIOS.values())[int(draw.integers(3))]
        names.append(os.path.join(folder, f"{video:04d}.mp4"))
        with open(names[-1], "wb") as file:
            file.write(json.dumps({"height": 6 * height, "width": 6 * width}).encode() + b"\n")
            file.write(bytes(4000))
    return names


def video_reader(path):
    """The container is opened on a shared drive, which takes a moment."""
    time.sleep(OPEN)
    with open(path, "rb") as file:
        return json.loads(file.readline())


class ImageVideoDataset(Dataset):
    def __init__(self, names):
        self.names = names
        self.shapes = [video_reader(name) for name in names] if FIX else None

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        video_reader(self.names[i])
        return torch.zeros(FRAMES, 3, 84, 84, dtype=torch.uint8), i


class AspectRatioBatchImageVideoSampler:
    """Collects films of each ratio until there are enough for a batch."""

    def __init__(self, sampler, dataset):
        self.sampler, self.dataset = sampler, dataset

    def shape(self, i):
        if self.dataset.shapes:
            return self.dataset.shapes[i]
        return video_reader(self.dataset.names[i])

    def __iter__(self):
        buckets = {ratio: [] for ratio in RATIOS}
        for i in self.sampler:
            shape = self.shape(i)
            ratio = shape["height"] / shape["width"]
            closest = min(RATIOS, key=lambda r: abs(float(r) - ratio))
            buckets[closest].append(i)
            if len(buckets[closest]) == BATCH:
                yield buckets[closest]
                buckets[closest] = []


class Transformer3D:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, pixels):
        self.gpu.copy(pixels.nbytes)
        self.gpu.launch(0.0041, "vae, text encoder")
        self.gpu.launch(0.0178, "transformer, backward, adamw")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=38 << 30), 0, 0
    model = Transformer3D(gpu)
    with tempfile.TemporaryDirectory() as folder:
        dataset = ImageVideoDataset(film(folder))
        sampler = AspectRatioBatchImageVideoSampler(RandomSampler(dataset), dataset)
        loader = DataLoader(dataset, batch_sampler=sampler, num_workers=2, persistent_workers=True)
        while not over():
            for pixels, _ in loader:
                model.step(pixels)
                step, samples = step + 1, samples + len(pixels)
                if step % 20 == 0:
                    print(f"Steps: {step}/100000 lr=2e-05, step_loss={gpu.item():.4f}", flush=True)
                if over():
                    break
        done(gpu, samples)


if __name__ == "__main__":
    main()
