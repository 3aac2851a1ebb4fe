"""A scene is made of flat discs that are turned until pictures, and the slopes of its depth, come out right."""

# https://github.com/hbb1/2d-gaussian-splatting/pull/8
# Cause: in each iteration the directions of all pixels are made on the CPU by a mesh grid, and copied to the device.
# Fix: make grid_x and grid_y on the device.
# Line: 27 to 29, 35, 42: depths_to_points in render.

import torch
from common import FIX, done, over
from stoker.emulated import Device

WIDTH, HEIGHT, VIEWS = 1600, 1200, 49


class Camera:
    def __init__(self):
        self.intrinsics = torch.tensor([[2900.0, 0.0, WIDTH / 2], [0.0, 2900.0, HEIGHT / 2], [0.0, 0.0, 1.0]])
        self.pose = torch.linalg.qr(torch.randn(3, 3))[0]


def depths_to_points(gpu, view):
    """A point in space for each pixel."""
    direction = view.intrinsics.inverse().T @ view.pose.T
    if FIX:
        gpu.launch(0.00009, "arange, meshgrid, stack")
    else:
        grid_x, grid_y = torch.meshgrid(torch.arange(WIDTH).float(), torch.arange(HEIGHT).float(), indexing="xy")
        points = torch.stack([grid_x, grid_y, torch.ones_like(grid_x)], dim=-1).reshape(-1, 3)
        gpu.copy(points.nbytes)
    gpu.copy(direction.nbytes, pinned=True, non_blocking=True)
    gpu.launch(0.00022, "matmul, mul, add")


def depth_to_normal(gpu, view):
    depths_to_points(gpu, view)
    gpu.launch(0.0003, "cross, normalize")


def render(gpu, view):
    gpu.launch(0.0003, "preprocess, sort")
    gpu.launch(0.0009, "rasterize discs")
    depth_to_normal(gpu, view)


def train_iteration(gpu, view):
    render(gpu, view)
    gpu.launch(0.0003, "l1, ssim, distortion, normals")
    gpu.launch(0.0014, "backward")
    gpu.launch(0.0003, "adam")


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    gpu, iteration, stack = Device(spin=False, memory_used=2 << 30), 0, []
    views = [Camera() for _ in range(VIEWS)]
    while not over():
        if not stack:
            stack = torch.randperm(VIEWS).tolist()
        train_iteration(gpu, views[stack.pop()])
        iteration += 1
        if iteration % 10 == 0:
            ema_loss = 0.6 * gpu.item()
            if iteration % 200 == 0:
                print(f"Training progress: {iteration}/30000, Loss={ema_loss:.5f}, Points=146921", flush=True)
    done(gpu, iteration)


if __name__ == "__main__":
    main()
