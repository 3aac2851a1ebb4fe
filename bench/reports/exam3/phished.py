"""All screenshots are decoded and made smaller at each start, before the first step (S-Abdelnabi/VisualPhishNet#1)."""

import os
import tempfile

import numpy
import torch
from common import FIX, done, over
from PIL import Image
from stoker.emulated import Device

FOLDER = os.path.join(tempfile.gettempdir(), "stoker-exam3-phish")
SAVED = os.path.join(FOLDER, "all_imgs.npy")


def make_files(count=30):
    os.makedirs(FOLDER, exist_ok=True)
    for n in range(count):
        path = os.path.join(FOLDER, f"{n:04d}.png")
        if not os.path.exists(path):
            pixels = numpy.random.default_rng(n).integers(0, 255, (45, 80, 3), numpy.uint8)
            Image.fromarray(pixels).resize((1280, 720)).save(path)


def read_imgs_per_website(targets, imgs_num, size):
    """The screenshots of all websites in one array, and which website each is of."""
    all_imgs, all_labels = numpy.zeros((imgs_num, *size, 3), numpy.float32), numpy.zeros((imgs_num, 1))
    for count, (path, label) in enumerate(targets):
        with Image.open(path) as image:
            all_imgs[count] = numpy.asarray(image.convert("RGB").resize(size[::-1], Image.BILINEAR), numpy.float32)
        all_labels[count] = label
    return all_imgs, all_labels


def pick_first_img_idx(labels_start_end, num_targets):
    return numpy.random.randint(0, num_targets * labels_start_end, 1)[0]


class Trainer:
    def __init__(self, all_imgs):
        self.gpu, self.all_imgs = Device(spin=False), all_imgs

    def get_batch(self, batch_size=16):
        chosen = [[pick_first_img_idx(10, len(self.all_imgs) // 10) for _ in range(3)] for _ in range(batch_size)]
        return torch.from_numpy(self.all_imgs[numpy.array(chosen).T])

    def train(self):
        samples = 0
        while not over():
            triplets = self.get_batch()
            self.gpu.copy(triplets.nbytes)
            self.gpu.launch(0.03, "triplet loss, backward")
            self.gpu.item()
            samples += triplets.shape[1]
        return samples


def main():
    torch.set_num_threads(1)
    make_files()
    targets = [(os.path.join(FOLDER, f"{n % 30:04d}.png"), n // 10) for n in range(200)]
    if FIX and not os.path.exists(SAVED):
        numpy.save(SAVED, read_imgs_per_website(targets, len(targets), (112, 112))[0])
    over()
    all_imgs = numpy.load(SAVED) if FIX else read_imgs_per_website(targets, len(targets), (112, 112))[0]
    trainer = Trainer(all_imgs)
    done(trainer.gpu, trainer.train())


if __name__ == "__main__":
    main()
