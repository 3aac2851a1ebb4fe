"""The surface of a thing is learned from photographs of it, by a network that is asked along rays."""

# https://github.com/Totoro97/NeuS/issues/133
# Cause: none: "my GPU utilization is 99 percent and working fine"; "I think it's normal". Healthy.
# Fix: nothing to change (--fix copies rays from pinned memory, which gains nothing).
# Line: none.

import torch
from common import FIX, done, over
from stoker.emulated import Device

BATCH, HEIGHT, WIDTH = 512, 600, 800


class Photographs:
    """All pictures stay in the host's memory; a step takes rays of one of them."""

    def __init__(self, count=12):
        self.images = torch.rand(count, HEIGHT, WIDTH, 3)
        self.masks = torch.rand(count, HEIGHT, WIDTH, 1).round()
        self.intrinsics_inv, self.pose = torch.eye(3) / 700, torch.eye(4)

    def gen_random_rays_at(self, index):
        x, y = torch.randint(0, WIDTH, (BATCH,)), torch.randint(0, HEIGHT, (BATCH,))
        color, mask = self.images[index, y, x], self.masks[index, y, x]
        directions = torch.stack([x, y, torch.ones_like(y)], -1).float() @ self.intrinsics_inv.T
        directions = torch.nn.functional.normalize(directions, dim=-1) @ self.pose[:3, :3].T
        return torch.cat([self.pose[:3, 3].expand(BATCH, 3), directions, color, mask[:, :1]], -1)


class NeuSRenderer:
    def __init__(self, gpu):
        self.gpu = gpu

    def render(self, rays):
        self.gpu.copy(rays.nbytes, pinned=FIX, non_blocking=True)
        self.gpu.launch(0.006, "outside")
        for level in range(4):
            self.gpu.launch(0.0052, f"up sample {level}")
        self.gpu.launch(0.041, "sdf, gradient")
        self.gpu.launch(0.013, "color")


def main():
    torch.set_num_threads(1)
    gpu, samples, iter_step = Device(spin=False, memory_used=5 << 30), 0, 0
    photographs, renderer = Photographs(), NeuSRenderer(gpu)
    order = torch.randperm(len(photographs.images))
    while not over():
        rays = photographs.gen_random_rays_at(order[iter_step % len(order)])
        renderer.render(rays)
        gpu.launch(0.117, "eikonal loss, backward, adam")
        iter_step, samples = iter_step + 1, samples + BATCH
        if iter_step % 25 == 0:
            print(f"iter:{iter_step} loss = {gpu.item():.4f} lr=0.0005", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
