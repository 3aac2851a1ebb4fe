"""Boxes of tomograms, some of whose tilts are shifted on purpose: a network learns how well a series is aligned."""

# https://github.com/warpem/miss-alignment/issues/14
# Cause: an epoch has as few batches as there are workers, each makes one whole batch at the same time, and the GPU
#        works when all have done; workers begin the next epoch's only when the GPU has done with this one's.
# Fix: smaller batches, so that an epoch has many and they come one after the other.
# Line: 16, BATCH of 32 for 64 boxes an epoch (each box is made at 33 to 40).

import numpy
import scipy.ndimage
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

BATCH = 4 if FIX else 32
BOX, TILTS = 40, 8


class ShiftedBoxes(Dataset):
    """Projections of a box with random shifts, and the box that is made of them again."""

    def __init__(self, count=64):
        self.count = count
        volume = scipy.ndimage.gaussian_filter(numpy.random.default_rng(0).normal(size=(BOX,) * 3).astype(numpy.float32), 2)
        angles = numpy.linspace(-60, 60, TILTS)
        self.projections = [scipy.ndimage.rotate(volume, angle, (0, 2), reshape=False, order=1).sum(0) for angle in angles]
        self.angles = angles

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        shifts = numpy.random.normal(0, 1.5, (TILTS, 2))
        box = numpy.zeros((BOX, BOX, BOX), numpy.float32)
        for projection, shift, angle in zip(self.projections, shifts, self.angles, strict=True):
            shifted = scipy.ndimage.shift(projection, shift, order=1)
            smeared = numpy.broadcast_to(shifted, (BOX, BOX, BOX))
            box += scipy.ndimage.rotate(smeared[:, ::4], angle, (0, 2), reshape=False, order=1).repeat(4, 1)
        return torch.from_numpy(box[None]), torch.tensor(abs(shifts).mean(), dtype=torch.float32)


class Trainer:
    def __init__(self, gpu):
        self.gpu, self.samples, self.losses = gpu, 0, []

    def fit_epoch(self, loader):
        for boxes, scores in loader:
            self.gpu.copy(boxes.nbytes + scores.nbytes, pinned=True, non_blocking=True)
            self.gpu.launch(0.0002 + 0.0019 * len(boxes), "resnet 3d")
            self.gpu.launch(0.0003 + 0.0038 * len(boxes), "backward, adam")
            self.samples += len(boxes)
            if over():
                break
        self.losses.append(self.gpu.item())


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    trainer = Trainer(gpu)
    loader = DataLoader(ShiftedBoxes(), BATCH, shuffle=True, num_workers=2, pin_memory=True, persistent_workers=True)
    while not over():
        trainer.fit_epoch(loader)
        if len(trainer.losses) % 5 == 0:
            print(f"Epoch {len(trainer.losses)}: train_loss={trainer.losses[-1]:.4f}", flush=True)
    done(gpu, trainer.samples)


if __name__ == "__main__":
    main()
