"""All of a large tile is normalised, and a small window of it is taken after that (allenai/olmoearth_pretrain#150)."""

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

BANDS, STEPS, SIDE, WINDOW = 12, 12, 96, 24


class Tiles(Dataset):
    def __init__(self):
        self.tile = numpy.random.default_rng(0).integers(0, 4000, (SIDE, SIDE, STEPS, BANDS), numpy.uint16)
        self.mean, self.std = numpy.linspace(900, 1900, BANDS), numpy.linspace(300, 900, BANDS)

    def __len__(self):
        return 10_000

    def normalize_image(self, image):
        low, high = self.mean - 2 * self.std, self.mean + 2 * self.std
        return numpy.clip((image - low) / (high - low), 0, 1).astype(numpy.float32)

    def __getitem__(self, i):
        tile = self.tile
        if FIX:
            tile = subset(tile)
        return torch.from_numpy(self.normalize_image(tile))


def subset(sample):
    """A window of the tile, or of a batch of tiles."""
    return sample[..., :WINDOW, :WINDOW, :, :]


def collate(samples):
    batch = torch.stack(samples)
    return batch if FIX else subset(batch).contiguous()


def main():
    gpu, samples = Device(), 0
    loader = DataLoader(Tiles(), batch_size=4, shuffle=True, num_workers=1, collate_fn=collate, pin_memory=True)
    for batch in loader:
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.02, "step")
        samples += len(batch)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
