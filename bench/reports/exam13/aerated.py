"""The flow around wings is predicted; each wing's values are scaled by their own spread."""

# https://github.com/wandb/senpai/pull/1555

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

WINGS, BATCH, POINTS = 1200, 4, 4096


class Airfoils(Dataset):
    def __init__(self):
        self.points = torch.rand(32, POINTS, 7)

    def __len__(self):
        return WINGS

    def __getitem__(self, i):
        return self.points[i % 32]


class Transolver:
    def __init__(self, gpu):
        self.gpu = gpu

    def sample_stds(self):
        """The spread of each wing's values, one wing after the other."""
        if FIX:
            self.gpu.launch(0.00011, "masked mean, variance, clamp")
            return
        for wing in range(BATCH):
            self.gpu.launch(0.00002, f"select {wing}")
            self.gpu.launch(0.00003, f"std, clamp {wing}")

    def train_step(self, points):
        self.gpu.copy(points.nbytes, pinned=True, non_blocking=True)
        self.sample_stds()
        for layer in range(6):
            self.gpu.launch(0.0042, f"slices, attention {layer}")
        self.gpu.launch(0.057, "losses, backward, adamw")


def main():
    torch.set_num_threads(1)
    gpu, samples, epoch = Device(spin=False, memory_used=17 << 30), 0, 0
    model = Transolver(gpu)
    loader = DataLoader(Airfoils(), BATCH, shuffle=True, num_workers=1, persistent_workers=True)
    while not over():
        for points in loader:
            model.train_step(points)
            samples += len(points)
            if over():
                break
        epoch += 1
        print(f"epoch {epoch} train/loss {gpu.item():.4f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
