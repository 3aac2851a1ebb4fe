"""Gaussians fitted to views of a scene, with planes spread from pixel to pixel now and then."""

import random

import torch
from common import FIX, done, over
from stoker.emulated import Device

HEIGHT, WIDTH = 822, 1236


class Camera:
    def __init__(self, n):
        self.uid, self.original_image = n, torch.zeros(3, HEIGHT, WIDTH)
        self.K = torch.tensor([[700.0, 0, WIDTH / 2], [0, 700.0, HEIGHT / 2], [0, 0, 1]])
        self.R, self.T = torch.eye(3), torch.rand(3)


class GaussianModel:
    def __init__(self, gpu, count=300_000):
        self.gpu, self.count = gpu, count

    def render(self, camera):
        self.gpu.launch(0.002, "preprocess")
        self.gpu.item()  # how many there are to sort
        self.gpu.launch(0.0015, "sort")
        self.gpu.launch(0.0045, "rasterize")
        return {"render": None, "depth": camera.depth}

    def step(self):
        self.gpu.launch(0.0075, "backward")
        self.gpu.launch(0.0015, "adam")


def depth2points(gpu, depth, camera):
    """A point in the world for each pixel."""
    if FIX:
        for name in ("arange", "meshgrid", "stack", "inverse", "matmul", "mul", "sub", "matmul"):
            gpu.launch(0.00008, name)
        return None
    y, x = torch.meshgrid(torch.arange(HEIGHT), torch.arange(WIDTH), indexing="ij")
    pixels = torch.stack([x, y, torch.ones_like(x)]).reshape(3, -1).float()
    rays = camera.K.inverse() @ pixels
    points = camera.R.T @ (rays * depth.reshape(1, -1) - camera.T[:, None])
    gpu.copy(points.nbytes)  # .cuda()
    return points


def depth2normals(gpu, points):
    for name in ("view", "sub", "sub", "cross", "normalize"):
        gpu.launch(0.00008, name)
    return points


def losses(gpu, camera):
    for name in ("l1", "ssim", "normal loss", "sparse loss"):
        gpu.launch(0.0004, name)


def training(gpu, cameras, iterations=1_000_000):
    gaussians, samples, stack = GaussianModel(gpu), 0, []
    for camera in cameras:
        camera.depth = torch.rand(1, HEIGHT, WIDTH) * 5 + 1
    for iteration in range(iterations):
        if over():
            break
        stack = stack or random.sample(cameras, len(cameras))
        camera = stack.pop()
        out = gaussians.render(camera)
        points = depth2points(gpu, out["depth"], camera)
        depth2normals(gpu, points)
        losses(gpu, camera)
        gaussians.step()
        samples += 1
        if iteration % 100 == 0:
            print(f"iteration {iteration}: loss {gpu.item():.5f}", flush=True)
    return samples


def main():
    torch.set_num_threads(1)
    random.seed(0)
    gpu = Device(spin=False)
    done(gpu, training(gpu, [Camera(n) for n in range(40)]))


if __name__ == "__main__":
    main()
