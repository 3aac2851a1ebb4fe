"""Occupied space around a car is learned from six cameras; rays of labelled pixels are the supervision."""

# https://github.com/pmj110119/RenderOcc/pull/5
# Cause: rays are made on the CPU in the model's training step, between a batch's arrival and its first kernel.
# Fix: make them in the data set's pipeline, in the loader's workers: a quarter of the training time remained.
# Line: 64, generate_rays in RenderOcc.forward_train (the work is at 22 to 36).

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

CAMERAS, FRAMES, HEIGHT, WIDTH, RAYS = 6, 2, 96, 176, 4000


def pixel_grid():
    v, u = torch.meshgrid(torch.arange(HEIGHT), torch.arange(WIDTH), indexing="ij")
    return torch.stack([u, v], -1).reshape(-1, 2).float()


def generate_rays(depths, semantics, intrinsics, poses):
    """A ray for each pixel that a point of the lidar hit; rare classes are drawn more often."""
    rays = []
    for depth, semantic, intrinsic, pose in zip(depths, semantics, intrinsics, poses, strict=True):
        grid = pixel_grid()
        directions = torch.cat([(grid - intrinsic[:2, 2]) / intrinsic.diagonal()[:2], torch.ones(len(grid), 1)], 1)
        directions = directions @ pose[:3, :3].T
        origins = pose[:3, 3].expand_as(directions)
        hit = depth.reshape(-1) > 0
        parts = [origins[hit], directions[hit], depth.reshape(-1, 1)[hit], semantic.reshape(-1, 1)[hit].float()]
        rays.append(torch.cat(parts, 1))
    rays = torch.cat(rays)
    counts = torch.bincount(rays[:, 7].long(), minlength=18).float()
    chosen = torch.multinomial((1 / counts)[rays[:, 7].long()], RAYS, replacement=False)
    return rays[chosen]


class NuScenes(Dataset):
    def __init__(self, count=3000):
        draw = numpy.random.default_rng(0)
        views = CAMERAS * FRAMES
        self.count, self.images = count, torch.zeros(CAMERAS, 3, 64, 176, dtype=torch.uint8)
        depths = draw.uniform(1, 45, (views, HEIGHT, WIDTH)) * (draw.random((views, HEIGHT, WIDTH)) < 0.5)
        self.depths = torch.from_numpy(depths).float()
        self.semantics = torch.from_numpy(numpy.minimum(draw.geometric(0.25, (views, HEIGHT, WIDTH)), 17)).to(torch.uint8)
        self.intrinsics = torch.eye(3).repeat(views, 1, 1) * 140
        self.poses = torch.eye(4).repeat(views, 1, 1)

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        annotations = (self.depths, self.semantics, self.intrinsics, self.poses)
        return self.images, generate_rays(*annotations) if FIX else annotations


class RenderOcc:
    def __init__(self, gpu):
        self.gpu = gpu

    def forward_train(self, images, annotations):
        self.gpu.copy(images.nbytes, pinned=True, non_blocking=True)
        rays = annotations if FIX else generate_rays(*annotations)
        self.gpu.copy(rays.nbytes, pinned=FIX, non_blocking=True)
        self.gpu.launch(0.009, "backbone, view transform")
        self.gpu.launch(0.005, "render rays")
        self.gpu.launch(0.024, "backward, adamw")

    def parse_losses(self):
        return {"loss": self.gpu.item()}


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    model = RenderOcc(gpu)
    loader = DataLoader(NuScenes(), None, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for images, annotations in loader:
            model.forward_train(images, annotations)
            losses = model.parse_losses()
            step, samples = step + 1, samples + 1
            if step % 50 == 0:
                print(f"Epoch [1][{step}/3000] loss: {losses['loss']:.4f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
