"""A picture model learns one new word from a handful of pictures of a thing."""

# https://github.com/huggingface/diffusers/pull/5218

import cv2
import numpy
import torch
from accelerate import Accelerator
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

REPEATS, PICTURES, BATCH, SIDE = 6, 8, 4, 256
TEMPLATES = ["a photo of a {}", "a rendering of a {}", "a cropped photo of the {}", "a close-up photo of a {}"]


class TextualInversionDataset(Dataset):
    def __init__(self):
        draw = numpy.random.default_rng(0)
        picture = cv2.GaussianBlur(draw.integers(0, 255, (320, 320, 3), dtype=numpy.uint8), (0, 0), 5)
        self.pictures = [cv2.imencode(".jpg", picture[p:])[1] for p in range(PICTURES)]

    def __len__(self):
        return PICTURES * REPEATS

    def __getitem__(self, i):
        image = cv2.imdecode(self.pictures[i % PICTURES], cv2.IMREAD_COLOR)
        image = cv2.resize(image, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC)
        if numpy.random.random() < 0.5:
            image = image[:, ::-1].copy()
        text = TEMPLATES[numpy.random.randint(len(TEMPLATES))].format("<toy>")
        ids = torch.tensor([ord(c) for c in text.ljust(77)[:77]])
        return {"pixel_values": torch.from_numpy(image).permute(2, 0, 1).contiguous(), "input_ids": ids}


class StableDiffusion:
    def __init__(self, gpu):
        self.gpu, self.embedding = gpu, torch.nn.Parameter(torch.zeros(768))

    def step(self, batch):
        self.gpu.copy(sum(part.nbytes for part in batch.values()), pinned=True, non_blocking=True)
        self.gpu.launch(0.0021, "vae")
        self.gpu.launch(0.0008, "text encoder")
        self.gpu.launch(0.0094, "unet, backward, adamw")


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    accelerator = Accelerator(cpu=True)
    gpu, samples, epoch, step = Device(spin=False, memory_used=9 << 30), 0, 0, 0
    model = StableDiffusion(gpu)
    dataloader = DataLoader(TextualInversionDataset(), BATCH, shuffle=True, num_workers=2, persistent_workers=FIX)
    dataloader = accelerator.prepare(dataloader)
    while not over():
        for batch in dataloader:
            model.step(batch)
            step, samples = step + 1, samples + len(batch["input_ids"])
            if over():
                break
        epoch += 1
        if epoch % 5 == 0:
            accelerator.print(f"Epoch {epoch} Steps: {step} loss={gpu.item():.4f}, lr=0.0005", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
