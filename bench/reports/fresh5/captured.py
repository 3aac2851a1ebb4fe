"""Each frame of a video is read, and the result written, in turn with the passes (nikopueringer/CorridorKey#226)."""

import os
import tempfile

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

FRAMES = 30


def write_clip(folder):
    draw = numpy.random.default_rng(0)
    for n in range(FRAMES):
        cv2.imwrite(os.path.join(folder, f"{n:04d}.png"), draw.integers(0, 255, (270, 480, 3), numpy.uint8))


class InferenceEngine:
    def __init__(self, gpu):
        self.gpu = gpu

    @torch.no_grad()
    def process_frame(self, image):
        self.gpu.copy(image.nbytes)
        self.gpu.launch(0.012, "unet")
        self.gpu.item()
        return image


def process_clip(engine, folder, out):
    frames = 0
    for n in range(FRAMES):
        image = cv2.imread(os.path.join(folder, f"{n:04d}.png"))
        result = engine.process_frame(image)
        if not FIX:
            cv2.imwrite(os.path.join(out, f"{n:04d}.png"), result)
        frames += 1
        if over():
            break
    return frames


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    gpu, samples = Device(spin=False), 0
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as out:
        write_clip(folder)
        engine = InferenceEngine(gpu)
        while not over():
            samples += process_clip(engine, folder, out)
        done(gpu, samples)


if __name__ == "__main__":
    main()
