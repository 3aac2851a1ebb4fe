"""Large photographs are decoded and scaled down for each sample (BIMCV-CSUSP/BIMCV-COVID-19#6)."""

import os
import tempfile

import cv2
import numpy
import torch
from common import FIX, done, over
from PIL import Image
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

FOLDER = os.path.join(tempfile.gettempdir(), "stoker-reports-xrays")


def make_images(count=24):
    os.makedirs(FOLDER, exist_ok=True)
    noise = cv2.resize(numpy.random.default_rng(0).integers(0, 255, (200, 160, 3), numpy.uint8), (1600, 2000))
    for n in range(count):
        for size, name in ((1600, f"{n:02d}.jpg"), (256, f"small-{n:02d}.jpg")):
            path = os.path.join(FOLDER, name)
            if not os.path.exists(path):
                Image.fromarray(noise).resize((size, size)).save(path, quality=90)


class XRays(Dataset):
    def __len__(self):
        return 24_000

    def __getitem__(self, i):
        path = os.path.join(FOLDER, f"{'small-' if FIX else ''}{i % 24:02d}.jpg")
        picture = Image.open(path).convert("RGB").resize((256, 256), Image.BILINEAR)
        return torch.from_numpy(numpy.array(picture)).permute(2, 0, 1)


def main():
    make_images()
    gpu = Device()
    loader = DataLoader(XRays(), batch_size=2, shuffle=True, num_workers=1, pin_memory=True)
    samples = 0
    for batch in loader:
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.015, "step")
        samples += len(batch)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
