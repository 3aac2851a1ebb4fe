"""A generator reads and warps the faces of the next batch while the device idles (shaoanlu/faceswap-GAN#77)."""

import io
import queue
import random
import threading

import cv2
import numpy
import torch
from common import FIX, done, over
from PIL import Image
from stoker.emulated import Device


def make_faces(count=64):
    noise = numpy.random.default_rng(0)
    for _ in range(count):
        file = io.BytesIO()
        Image.fromarray(noise.integers(0, 255, (32, 32, 3), numpy.uint8)).resize((256, 256)).save(file, "JPEG", quality=92)
        yield file.getvalue()


def random_warp(image):
    places = numpy.linspace(48, 208, 5)
    mapx = (numpy.broadcast_to(places, (5, 5)) + numpy.random.normal(scale=5, size=(5, 5))).astype(numpy.float32)
    mapy = (numpy.broadcast_to(places, (5, 5)).T + numpy.random.normal(scale=5, size=(5, 5))).astype(numpy.float32)
    maps = [cv2.resize(part, (160, 160)) for part in (mapx, mapy)]
    return cv2.remap(image, *maps, cv2.INTER_LINEAR)[16:144, 16:144], cv2.resize(image[48:208, 48:208], (128, 128))


def read_image(data):
    image = numpy.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(numpy.float32) / 127.5 - 1
    center, scale = (128, 128), 1 + random.uniform(-0.05, 0.05)
    image = cv2.warpAffine(image, cv2.getRotationMatrix2D(center, random.uniform(-10, 10), scale), (256, 256))
    return random_warp(image)


def minibatch(data, size):
    epoch = i = 0
    while True:
        if i + size > len(data):
            random.shuffle(data)
            i, epoch = 0, epoch + 1
        pairs = [read_image(data[j]) for j in range(i, i + size)]
        i += size
        yield epoch, numpy.stack([warped for warped, _ in pairs]), numpy.stack([target for _, target in pairs])


def background(generator, max_prefetch):
    """Run a generator in a thread, so many items ahead."""
    ready = queue.Queue(max_prefetch)

    def fill():
        for item in generator:
            ready.put(item)
            if over():
                return

    threading.Thread(target=fill, daemon=True).start()
    while True:
        yield ready.get()


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    gpu, samples = Device(spin=False), 0
    batches = minibatch(list(make_faces()), 8)
    if FIX:
        batches = background(batches, 36)
    while not over():
        _, warped, target = next(batches)
        gpu.copy(warped.nbytes + target.nbytes)
        gpu.launch(0.014, "discriminators")
        gpu.item()
        gpu.launch(0.014, "generators")
        gpu.item()
        samples += len(warped)
    done(gpu, samples)


if __name__ == "__main__":
    main()
