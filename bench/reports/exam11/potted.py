"""A diffusion model learns to paint plants, from photographs that people sent in."""

# https://github.com/joh-schb/PlantLDM/issues/31

import io

import numpy
import torch
from common import FIX, done, over
from PIL import Image
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

SIDE, BATCH = 64, 8


def photograph(width, height):
    draw = numpy.random.default_rng(0)
    small = Image.fromarray(draw.integers(0, 255, (40, 60, 3), dtype=numpy.uint8))
    return small.resize((width, height), Image.Resampling.BICUBIC)


def resize_and_crop(image):
    scale = SIDE / min(image.size)
    image = image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.LANCZOS)
    left, top = (image.width - SIDE) // 2, (image.height - SIDE) // 2
    return image.crop((left, top, left + SIDE, top + SIDE))


class PlantNet(Dataset):
    def __init__(self, count=20_000):
        image = photograph(1100, 820)
        if FIX:
            image = resize_and_crop(image)
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", quality=92)
        self.data, self.count = buffer.getvalue(), count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        image = Image.open(io.BytesIO(self.data)).convert("RGB")
        if image.size != (SIDE, SIDE):
            image = resize_and_crop(image)
        if i % 2:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return torch.from_numpy(numpy.array(image)), i % 1081


class PlantLDM:
    def __init__(self, gpu):
        self.gpu = gpu

    def training_step(self, images):
        self.gpu.copy(images.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.0015, "encoder")
        self.gpu.launch(0.0142, "unet, mse, backward, adamw")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=10 << 30), 0, 0
    model = PlantLDM(gpu)
    loader = DataLoader(PlantNet(), BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for images, _ in loader:
            model.training_step(images)
            step, samples = step + 1, samples + len(images)
            if step % 25 == 0:
                print(f"Epoch 0: step {step} loss {gpu.item():.4f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
