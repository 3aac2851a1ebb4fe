"""A scene becomes more and more small splats, each time that the loss says where they are too few."""

# https://github.com/Anttwo/SuGaR/issues/100
# Cause: none: the steps become slower because the splats become more: "it's not surprising to see the optimization slowing down".
# Fix: nothing to change (--fix copies the picture from pinned memory, which gains nothing).
# Line: none.

import random

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

PICTURES, HEIGHT, WIDTH = 30, 270, 480


class Camera:
    def __init__(self, number):
        draw = numpy.random.default_rng(number)
        self.original_image = torch.from_numpy(draw.integers(0, 255, (3, HEIGHT, WIDTH), dtype=numpy.uint8))
        angle = 2 * numpy.pi * number / PICTURES
        self.world_view = torch.tensor([[numpy.cos(angle), 0, numpy.sin(angle), 0], [0, 1, 0, 0]], dtype=torch.float32)


class GaussianModel:
    """The number of splats decides how long a step is."""

    def __init__(self, gpu, points=13_257):
        self.gpu, self.points = gpu, points

    def render(self, camera):
        self.gpu.copy(camera.original_image.nbytes + camera.world_view.nbytes, pinned=FIX, non_blocking=True)
        million = self.points / 1e6
        self.gpu.launch(0.012 + 0.05 * million, "preprocess, sort")
        self.gpu.launch(0.02 + 0.11 * million, "rasterize")

    def backward(self):
        million = self.points / 1e6
        self.gpu.launch(0.006, "l1, ssim")
        self.gpu.launch(0.04 + 0.2 * million, "backward")
        self.gpu.launch(0.01 + 0.04 * million, "adam")

    def densify_and_prune(self):
        self.gpu.launch(0.003, "clone, split, prune")
        self.points = min(int(1.07 * self.points), 2_000_000)


def training(gaussians, cameras):
    ema_loss, iteration, stack = 0.0, 0, []
    while not over():
        iteration += 1
        if not stack:
            stack = cameras.copy()
        camera = stack.pop(random.randrange(len(stack)))
        gaussians.render(camera)
        gaussians.backward()
        if iteration % 10 == 0:
            ema_loss = 0.4 * gaussians.gpu.item() + 0.6 * ema_loss
            print(f"Training progress: {iteration}/7000 Loss={ema_loss:.7f} Points={gaussians.points}", flush=True)
        if iteration % 20 == 0:
            gaussians.densify_and_prune()
    return iteration


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False, memory_used=9 << 30)
    iterations = training(GaussianModel(gpu), [Camera(number) for number in range(PICTURES)])
    done(gpu, iterations)


if __name__ == "__main__":
    main()
