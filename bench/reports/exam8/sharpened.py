"""Super-resolution of the brightness channel; patches are cut out of photographs with two million pixels."""

# https://github.com/jiny2001/dcscn-super-resolution/issues/66
# Cause: for each patch a big PNG is unpacked and made YCbCr, "which will be the major cause".
# Fix: convert the data set to monochrome files once (convert_y.py).
# Line: 47 and 48, cv2.imdecode and cvtColor in PatchDataset.__getitem__.

import os
import tempfile

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

PATCH, SCALE, BATCH = 96, 2, 16


def make_photographs(folder, count=6):
    draw = numpy.random.default_rng(0)
    photograph = cv2.GaussianBlur(draw.integers(0, 255, (600, 900, 3), dtype=numpy.uint8), (0, 0), 4)
    for i in range(count):
        cv2.imwrite(os.path.join(folder, f"{i:04}.png"), numpy.roll(photograph, 40 * i, 1))


def convert_y(folder):
    for name in os.listdir(folder):
        picture = cv2.imread(os.path.join(folder, name))
        numpy.save(os.path.join(folder, name[:-3] + "npy"), cv2.cvtColor(picture, cv2.COLOR_BGR2YCrCb)[..., 0])


class PatchDataset(Dataset):
    def __init__(self, folder, ending, count=4000):
        self.names = sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(ending))
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        name = self.names[i % len(self.names)]
        if name.endswith(".npy"):
            luma = numpy.load(name, mmap_mode="r")
        else:
            picture = cv2.imdecode(numpy.fromfile(name, numpy.uint8), cv2.IMREAD_COLOR)
            luma = cv2.cvtColor(picture, cv2.COLOR_BGR2YCrCb)[..., 0]
        y, x = numpy.random.randint(0, luma.shape[0] - PATCH), numpy.random.randint(0, luma.shape[1] - PATCH)
        high = numpy.ascontiguousarray(luma[y : y + PATCH, x : x + PATCH])
        low = cv2.resize(high, (PATCH // SCALE, PATCH // SCALE), interpolation=cv2.INTER_CUBIC)
        return torch.from_numpy(low[None]).float() / 255, torch.from_numpy(high[None]).float() / 255


def train(gpu, loader):
    samples, step = 0, 0
    while not over():
        for low, high in loader:
            gpu.copy(low.nbytes + high.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.014, "dcscn")
            gpu.launch(0.029, "backward, adam")
            step, samples = step + 1, samples + len(low)
            if step % 25 == 0:
                print(f"Step:{step} MSE:{gpu.item():.6f} Learning Rate:0.002", flush=True)
            if over():
                break
    return samples


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu = Device(spin=False)
    with tempfile.TemporaryDirectory() as folder:
        make_photographs(folder)
        if FIX:
            convert_y(folder)
        dataset = PatchDataset(folder, ".npy" if FIX else ".png")
        loader = DataLoader(dataset, BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
        done(gpu, train(gpu, loader))


if __name__ == "__main__":
    main()
