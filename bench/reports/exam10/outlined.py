"""Somebody marks a thing in the first frame of a film, and a network finds it in all others; it learns on short clips."""

# https://github.com/hkchengrex/Cutie/issues/58
# Cause: none: "the GPU load should be near 99% most of the time, which means the GPU shouldn't have to wait for the dataloader".
# Fix: nothing to change (--fix has one worker more, which gains nothing).
# Line: none.

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

FRAMES, SIDE, BATCH = 8, 96, 2


class VOSDataset(Dataset):
    def __init__(self, count=2000):
        film = cv2.GaussianBlur(numpy.random.default_rng(0).integers(0, 255, (120, 400, 3), dtype=numpy.uint8), (0, 0), 3)
        self.frames = [cv2.imencode(".jpg", film[:, 4 * f : 4 * f + 200])[1] for f in range(48)]
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        chosen = sorted(numpy.random.default_rng(i).choice(len(self.frames), FRAMES, replace=False))
        images = [cv2.resize(cv2.imdecode(self.frames[f], cv2.IMREAD_COLOR), (SIDE, SIDE)) for f in chosen]
        masks = [(image[..., 0] > 127).astype(numpy.uint8) for image in images]
        return torch.from_numpy(numpy.stack(images)), torch.from_numpy(numpy.stack(masks))


class Cutie:
    def __init__(self, gpu):
        self.gpu = gpu

    def do_pass(self, images, masks):
        self.gpu.copy(images.nbytes + masks.nbytes, pinned=True, non_blocking=True)
        for frame in range(FRAMES):
            self.gpu.launch(0.0115, f"frame {frame}: pixels, memory, object transformer")
        self.gpu.launch(0.178, "losses, backward, adamw")


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu, samples, it = Device(spin=False, memory_used=30 << 30), 0, 0
    model = Cutie(gpu)
    workers = 2 if FIX else 1
    loader = DataLoader(VOSDataset(), BATCH, shuffle=True, num_workers=workers, pin_memory=True, persistent_workers=True)
    while not over():
        for images, masks in loader:
            model.do_pass(images, masks)
            it, samples = it + 1, samples + len(images)
            if it % 10 == 0:
                print(f"main_training - it {it:6d}: total_loss {gpu.item():.4f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
