"""Photographs of their full size are sorted by whether something on them is broken."""

# https://github.com/pytorch/pytorch/issues/121414

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

HEIGHT, WIDTH, BATCH = 960, 1280, 6


class Photographs(Dataset):
    def __init__(self, count=20_000):
        generator = torch.Generator().manual_seed(0)
        self.photographs = [
            torch.randint(0, 255, (3, HEIGHT, WIDTH), dtype=torch.uint8, generator=generator) for _ in range(4)
        ]
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.photographs[i % 4], i % 2


def to_device(image, gpu, dtype):
    """What `image.to(device="cuda", dtype=dtype)` does with a tensor of another type."""
    image = image.to(dtype)
    gpu.copy(image.nbytes)
    return image


class Detector:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, images):
        if FIX:
            self.gpu.copy(images.nbytes, pinned=True, non_blocking=True)
            self.gpu.launch(0.0003, "to float32")
        else:
            images = to_device(images, self.gpu, torch.float32)
        self.gpu.launch(0.0006, "normalise")
        self.gpu.launch(0.0098, "convnext")
        self.gpu.launch(0.0204, "backward, adamw")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=26 << 30), 0, 0
    detector = Detector(gpu)
    loader = DataLoader(Photographs(), BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for images, _ in loader:
            detector.step(images)
            step, samples = step + 1, samples + len(images)
            if step % 20 == 0:
                print(f"epoch 0 [{samples}/20000] loss {gpu.item():.4f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
