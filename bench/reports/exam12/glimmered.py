"""A room with mirrors is learned as several spaces from photographs, ray by ray."""

# https://github.com/ZX-Yin/ms-nerf/issues/3

import os
import tempfile

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

RAYS, SPACES, HEIGHT, WIDTH = 4096, 6, 480, 640
I_PRINT = 1000 if FIX else 100


class Rays(Dataset):
    def __init__(self, count=100_000):
        self.rays, self.count = torch.rand(RAYS, 9), count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.rays


class MsNerf:
    def __init__(self, gpu):
        self.gpu = gpu

    def train_step(self, rays):
        self.gpu.copy(rays.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.0018, "sample, encode")
        self.gpu.launch(0.0022, "mlp, composite")
        self.gpu.launch(0.0045, "backward, adam")

    def render(self, space):
        self.gpu.launch(0.011, f"render space {space}")
        self.gpu.item()
        return numpy.random.default_rng(space).random((HEIGHT, WIDTH), dtype=numpy.float32)


class Summary:
    """Pictures of a view as each space has it, with depth and weight."""

    def __init__(self, folder):
        self.folder = folder

    def visualize(self, values):
        low, high = numpy.percentile(values, 1), numpy.percentile(values, 99)
        values = numpy.clip((values - low) / (high - low), 0, 1)
        return cv2.applyColorMap((values * 255).astype(numpy.uint8), cv2.COLORMAP_TURBO)

    def image(self, name, picture):
        cv2.imwrite(os.path.join(self.folder, f"{name}.png"), picture)

    def write(self, model):
        for space in range(SPACES):
            depth = model.render(space)
            self.image(f"depth_{space}", self.visualize(depth))
            self.image(f"weight_{space}", self.visualize(depth**2))


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu, step = Device(spin=False, memory_used=11 << 30), 0
    model = MsNerf(gpu)
    loader = DataLoader(Rays(), None, num_workers=1, pin_memory=True, persistent_workers=True)
    with tempfile.TemporaryDirectory() as folder:
        summary = Summary(folder)
        while not over():
            for rays in loader:
                model.train_step(rays)
                step += 1
                if step % I_PRINT == 0:
                    summary.write(model)
                    print(f"{step}/200000: loss={gpu.item():.5f}, avg_psnr=21.3", flush=True)
                if over():
                    break
        done(gpu, step * RAYS)


if __name__ == "__main__":
    main()
