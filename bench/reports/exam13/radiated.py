"""A scene is reconstructed from photographs; training goes on from a checkpoint."""

# https://github.com/openvdb/fvdb-reality-capture/pull/159

import os
import tempfile
import time

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

IMAGES, HEIGHT, WIDTH, START_STEP, READ = 100, 270, 480, 800, 0.007


def photograph(folder):
    draw, names = numpy.random.default_rng(0), []
    for image in range(IMAGES):
        names.append(os.path.join(folder, f"DSC{image:05d}.JPG"))
        small = draw.integers(0, 255, (HEIGHT // 6, WIDTH // 6, 3), dtype=numpy.uint8)
        cv2.imwrite(names[-1], cv2.resize(small, (WIDTH, HEIGHT)))
    return names


class SfmDataset(Dataset):
    """Photographs lie on a large, slow disk."""

    def __init__(self, names):
        self.names = names

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        time.sleep(READ)
        image = cv2.cvtColor(cv2.imread(self.names[i]), cv2.COLOR_BGR2RGB)
        return {"image": torch.from_numpy(image), "image_id": i, "world_to_cam": torch.eye(4)}


class GaussianSplat3d:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, minibatch):
        self.gpu.copy(minibatch["image"].nbytes)
        self.gpu.launch(0.0039, "project, rasterise")
        self.gpu.launch(0.0083, "l1 and ssim, backward, adam")


class Runner:
    def __init__(self, gpu, names):
        self.gpu, self.model, self.samples, self.global_step = gpu, GaussianSplat3d(gpu), 0, 0
        torch.manual_seed(42)
        options = {"shuffle": True, "num_workers": 1, "persistent_workers": True}
        self.trainloader = DataLoader(SfmDataset(names), 1, **options)

    def skip(self):
        """Draw what was trained on already, without loading it."""
        while self.global_step + len(self.trainloader) <= START_STEP:
            for _ in self.trainloader.sampler:
                self.global_step += 1

    def train(self):
        if FIX:
            self.skip()
        while not over():
            for minibatch in self.trainloader:
                if self.global_step < START_STEP:
                    self.global_step += 1
                    continue
                self.model.step(minibatch)
                self.global_step, self.samples = self.global_step + 1, self.samples + 1
                if self.global_step % 100 == 0:
                    print(f"step {self.global_step}/42000 loss={self.gpu.item():.3f}", flush=True)
                if over():
                    break


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu = Device(spin=False, memory_used=5 << 30)
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(gpu, photograph(folder))
        over()
        print(f"Restarting from checkpoint at step {START_STEP}", flush=True)
        runner.train()
        done(gpu, runner.samples)


if __name__ == "__main__":
    main()
