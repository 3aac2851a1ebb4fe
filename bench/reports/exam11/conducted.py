"""Printed music is read by a transformer; staves are augmented as they come."""

# https://github.com/liebharc/homr/pull/128

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

HEIGHT, WIDTH, BATCH = 64, 320, 4


class Staves(Dataset):
    def __init__(self, count=4000):
        page = numpy.full((HEIGHT, 1200), 255, numpy.uint8)
        page[16:48:8] = 0
        for note in range(60):
            cv2.circle(page, (20 * note, 16 + 7 * note % 32), 4, 0, -1)
        self.page, self.count = page, count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        draw = numpy.random.default_rng(i)
        left = int(draw.integers(0, 1200 - WIDTH))
        stave = self.page[:, left : left + WIDTH]
        turn = cv2.getRotationMatrix2D((WIDTH / 2, HEIGHT / 2), draw.uniform(-1, 1), 1)
        stave = cv2.warpAffine(stave, turn, (WIDTH, HEIGHT), borderValue=255)
        stave = cv2.GaussianBlur(stave, (3, 3), 0)
        return torch.from_numpy(stave)[None], torch.from_numpy(draw.integers(0, 300, 40))


def worker_init(_):
    cv2.setNumThreads(0 if FIX else 2)


class TrOMR:
    def __init__(self, gpu):
        self.gpu = gpu

    def training_step(self, staves, symbols):
        self.gpu.copy(staves.nbytes + symbols.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.052, "convnext")
        for layer in range(8):
            self.gpu.launch(0.007, f"decoder {layer}")
        self.gpu.launch(0.131, "cross entropy, backward, adamw")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=16 << 30), 0, 0
    model = TrOMR(gpu)
    loader = DataLoader(
        Staves(), BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True, worker_init_fn=worker_init
    )
    while not over():
        for staves, symbols in loader:
            model.training_step(staves, symbols)
            step, samples = step + 1, samples + len(staves)
            if step % 10 == 0:
                print(f"{{'loss': {gpu.item():.4f}, 'step': {step}}}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
