"""Spleens are outlined in scans; the scans are read and scaled before training, and stay in memory."""

# https://github.com/Project-MONAI/MONAI/issues/1300

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

SCANS, DEPTH, SIDE, CROP, BATCH, EPOCH_STEPS = 24, 40, 96, 48, 2, 12


def read_scan(number):
    """A scan and its label, scaled to values between zero and one."""
    draw = numpy.random.default_rng(number)
    image = draw.random((DEPTH, SIDE, SIDE), dtype=numpy.float32)
    label, meta = (image > 0.9).astype(numpy.float32), {"affine": numpy.eye(4), "number": number}
    return {"image": image, "label": label, "meta": meta}


class CacheDataset(Dataset):
    """Items as they are after the transforms that draw nothing at random."""

    def __init__(self, scans):
        self.cache = [read_scan(scan) for scan in range(scans)]

    def __len__(self):
        return BATCH * EPOCH_STEPS

    def __getitem__(self, i):
        item, draw = self.cache[i % len(self.cache)], numpy.random.default_rng()
        y, x = draw.integers(0, SIDE - CROP, 2)
        crops = [item[key][:, y : y + CROP, x : x + CROP] for key in ("image", "label")]
        return torch.from_numpy(numpy.stack(crops))


class UNet:
    def __init__(self, gpu):
        self.gpu = gpu

    def train_step(self, batch):
        self.gpu.copy(batch.nbytes)
        self.gpu.launch(0.021, "unet")
        self.gpu.launch(0.046, "dice loss, backward, adam")


def main():
    torch.set_num_threads(1)
    gpu, samples, epoch = Device(spin=False, memory_used=10 << 30), 0, 0
    model = UNet(gpu)
    options = {"num_workers": 0} if FIX else {"num_workers": 1, "multiprocessing_context": "spawn"}
    loader = DataLoader(CacheDataset(SCANS), BATCH, shuffle=True, **options)
    while not over():
        for batch in loader:
            model.train_step(batch)
            samples += len(batch)
        epoch += 1
        print(f"epoch {epoch} average loss: {gpu.item():.4f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
