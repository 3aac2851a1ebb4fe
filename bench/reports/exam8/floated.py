"""Things that move on their own are discovered in films, from masks of what flows together."""

# https://github.com/zpbao/Discovery_Obj_Move/issues/4
# Cause: the numbers of each mask are made consecutive pixel by pixel in Python, in the data set.
# Fix: numpy.unique with counts and the inverse: 0.3 s became 0.01 s.
# Line: 26 to 34, the loop of compact, from __getitem__ at 52.

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

FRAMES, HEIGHT, WIDTH = 5, 92, 122


def compact(mask):
    """Small segments become background, the others are numbered in order."""
    if FIX:
        values, inverse, counts = numpy.unique(mask, return_inverse=True, return_counts=True)
        mapping = numpy.arange(len(values))
        mapping[counts <= 50] = 0
        return mapping[inverse].reshape(mask.shape).astype(numpy.uint8)
    mapping, count, mask = {}, 0, mask.copy()
    for i in range(mask.shape[0]):
        for j in range(mask.shape[1]):
            if mask[i, j] not in mapping:
                if (mask == mask[i, j]).sum() > 50:
                    mapping[mask[i, j]] = count
                    count += 1
                else:
                    mapping[mask[i, j]] = 0
            mask[i, j] = mapping[mask[i, j]]
    return mask.astype(numpy.uint8)


class TRIPDataset(Dataset):
    def __init__(self, films=40):
        draw = numpy.random.default_rng(0)
        self.films = []
        for _ in range(films):
            blobs = cv2.GaussianBlur(draw.integers(0, 255, (HEIGHT, WIDTH), dtype=numpy.uint8), (0, 0), 6).astype(numpy.int32)
            masks = numpy.stack([numpy.roll((blobs - blobs.min()) // 4, t, 1) for t in range(FRAMES)]) + 1000
            self.films.append((draw.integers(0, 255, (FRAMES, HEIGHT * 2, WIDTH * 2, 3), dtype=numpy.uint8), masks))

    def __len__(self):
        return 50 * len(self.films)

    def __getitem__(self, index):
        frames, masks = self.films[index % len(self.films)]
        masks = numpy.stack([compact(mask) for mask in masks])
        return torch.from_numpy(frames), torch.from_numpy(masks)


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    loader = DataLoader(TRIPDataset(), 2, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for frames, masks in loader:
            gpu.copy(frames.nbytes + masks.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.003, "resnet18, convlstm")
            for iteration in range(3):
                gpu.launch(0.001, f"slots {iteration}")
            gpu.launch(0.009, "decoder, backward, adam")
            step, samples = step + 1, samples + len(frames)
            if step % 50 == 0:
                print(f"epoch 0 step {step}, loss: {gpu.item():.4f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
