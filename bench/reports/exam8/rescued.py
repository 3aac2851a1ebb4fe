"""People who are lost in a forest are found on pictures of drones; the generator changes light and colours a little."""

# https://github.com/lacmus-foundation/lacmus/pull/73
# Cause: each change of light or colour makes the whole big picture float32 and uint8 again.
# Fix: one table of 256 bytes for each change, applied by cv2.LUT: an epoch of 7 hours took about 2.
# Line: 53 to 59, random_visual_effect and its callees (from 22).

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

HEIGHT, WIDTH, BATCH = 480, 720, 4


def _clip(image):
    return numpy.clip(image, 0, 255).astype(numpy.uint8)


def adjust_contrast(image, factor):
    if FIX:
        return cv2.LUT(image, _clip(numpy.arange(256) * factor + 127.5 * (1 - factor)))
    mean = image.astype(numpy.float32).mean(axis=0).mean(axis=0)
    return _clip((image.astype(numpy.float32) - mean) * factor + mean)


def adjust_brightness(image, delta):
    if FIX:
        return cv2.LUT(image, _clip(numpy.arange(256) + delta * 255))
    return _clip(image.astype(numpy.float32) + delta * 255)


def adjust_hue(image, delta):
    if FIX:
        hue, saturation, value = cv2.split(image)
        return cv2.merge([cv2.LUT(hue, ((numpy.arange(256) + delta * 180) % 180).astype(numpy.uint8)), saturation, value])
    image = image.astype(numpy.float32)
    image[..., 0] = numpy.mod(image[..., 0] + delta * 180, 180)
    return image.astype(numpy.uint8)


def adjust_saturation(image, factor):
    if FIX:
        hue, saturation, value = cv2.split(image)
        return cv2.merge([hue, cv2.LUT(saturation, _clip(numpy.arange(256) * factor)), value])
    image = image.astype(numpy.float32)
    image[..., 1] = numpy.clip(image[..., 1] * factor, 0, 255)
    return image.astype(numpy.uint8)


def random_visual_effect(image):
    image = adjust_contrast(image, numpy.random.uniform(0.9, 1.1))
    image = adjust_brightness(image, numpy.random.uniform(-0.1, 0.1))
    image = cv2.cvtColor(image, cv2.COLOR_BGR2HSV)
    image = adjust_hue(image, numpy.random.uniform(-0.05, 0.05))
    image = adjust_saturation(image, numpy.random.uniform(0.95, 1.05))
    return cv2.cvtColor(image, cv2.COLOR_HSV2BGR)


class DroneDataset(Dataset):
    def __init__(self, count=1100):
        draw = numpy.random.default_rng(0)
        forest = cv2.GaussianBlur(draw.integers(0, 255, (HEIGHT, WIDTH, 3), dtype=numpy.uint8), (0, 0), 2)
        self.images, self.count = [numpy.roll(forest, 50 * i, 1) for i in range(12)], count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        image = random_visual_effect(self.images[i % len(self.images)])
        if numpy.random.random() < 0.5:
            image = image[:, ::-1].copy()
        return torch.from_numpy(image), torch.tensor([[40, 50, 60, 90]])


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu, samples, step = Device(spin=False), 0, 0
    loader = DataLoader(DroneDataset(), BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for images, boxes in loader:
            gpu.copy(images.nbytes + boxes.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.009, "resnet50, pyramid")
            gpu.launch(0.02, "heads, focal loss, backward, adam")
            step, samples = step + 1, samples + len(images)
            if step % 25 == 0:
                print(f"{step}/275 - loss: {gpu.item():.4f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
