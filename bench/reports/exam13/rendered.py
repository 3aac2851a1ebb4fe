"""A radiance field and its cameras are learned from the photographs of one folder."""

# https://github.com/ActiveVisionLab/nerfmm/issues/22

import os
import tempfile

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

IMAGES, FILES, HEIGHT, WIDTH, SCALE, RAYS = 160, 16, 756, 1008, 4, 1024


def photograph(folder):
    draw = numpy.random.default_rng(0)
    for image in range(FILES):
        small = draw.integers(0, 255, (HEIGHT // 12, WIDTH // 12, 3), dtype=numpy.uint8)
        cv2.imwrite(os.path.join(folder, f"IMG_{image:04d}.jpg"), cv2.resize(small, (WIDTH, HEIGHT)))


def load_imgs(folder):
    """All photographs, one after the other: only some are files of their own here."""
    names = sorted(os.listdir(folder))
    for image in range(IMAGES):
        yield cv2.imread(os.path.join(folder, names[image % FILES]))


def resize_imgs(img, height, width):
    """Float, and smaller without jagged edges."""
    img = torch.from_numpy(img).permute(2, 0, 1)[None].float() / 255
    return torch.nn.functional.interpolate(img, (height, width), mode="bicubic", antialias=True)[0]


def resize_imgs_cuda(gpu, img):
    """The same on the device; every fourth pixel stands for what it would give."""
    gpu.copy(img.nbytes)
    gpu.launch(0.0005, "float, bicubic")
    return torch.from_numpy(img[::SCALE, ::SCALE].copy()).permute(2, 0, 1).float() / 255


class DataLoaderAnyFolder:
    def __init__(self, folder, gpu):
        height, width, imgs = HEIGHT // SCALE, WIDTH // SCALE, []
        for img in load_imgs(folder):
            imgs.append(resize_imgs_cuda(gpu, img) if FIX else resize_imgs(img, height, width))
        self.imgs = torch.stack(imgs).half()


class NeRF:
    def __init__(self, gpu):
        self.gpu = gpu

    def train_one_image(self, img):
        picked = torch.randint(0, img.shape[1] * img.shape[2], (RAYS,))
        colours = img.flatten(1)[:, picked]
        self.gpu.copy(colours.nbytes)
        self.gpu.launch(0.0041, "rays, field, volume rendering")
        self.gpu.launch(0.0079, "backward, adam")


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu, samples, epoch = Device(spin=False, memory_used=3 << 30), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        photograph(folder)
        over()
        scene = DataLoaderAnyFolder(folder, gpu)
    print(f"Intrinsic: H: {HEIGHT // SCALE}, W: {WIDTH // SCALE}, {len(scene.imgs)} images", flush=True)
    model = NeRF(gpu)
    while not over():
        for i in torch.randperm(len(scene.imgs)).tolist():
            model.train_one_image(scene.imgs[i])
            samples += RAYS
            if over():
                break
        epoch += 1
        print(f"{epoch:6d} ep: Train: L2 loss: {gpu.item():.4f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
