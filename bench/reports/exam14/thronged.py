"""People in a mall are counted and located; after each epoch it is seen how far off the places are."""

# https://github.com/javiribera/locating-objects-without-bboxes/issues/13

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

TRAIN, VALID, BATCH, HEIGHT, WIDTH, PEOPLE, ROUNDS, VAL_FREQ = 192, 24, 8, 96, 128, 14, 25, 10 if FIX else 1


class Mall(Dataset):
    def __init__(self, count):
        self.image, self.count = torch.zeros(3, HEIGHT, WIDTH, dtype=torch.uint8), count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.image


class FitMixture:
    """Where the pixels of a mask gather: expectation, maximisation, and again."""

    def __init__(self):
        self.draw = numpy.random.default_rng(0)

    def __call__(self, mask):
        pixels = numpy.argwhere(mask).astype(float)
        centres = pixels[self.draw.choice(len(pixels), PEOPLE)]
        for _ in range(ROUNDS):
            apart = ((pixels[:, None] - centres[None]) ** 2).sum(-1)
            share = numpy.exp(-(apart - apart.min(1, keepdims=True)) / 50)
            share /= share.sum(1, keepdims=True)
            centres = share.T @ pixels / share.sum(0)[:, None]
        return centres


class UNet:
    def __init__(self, gpu):
        self.gpu, self.map = gpu, numpy.random.default_rng(1).random((HEIGHT, WIDTH))

    def __call__(self, images):
        self.gpu.copy(images.nbytes)
        self.gpu.launch(0.0009 + 0.0006 * len(images), "unet, count")

    def train_step(self, images):
        self(images)
        self.gpu.launch(0.0136, "weighted hausdorff distance, backward, adam")

    def estimate(self, images):
        self(images)
        self.gpu.item()
        return self.map


def validate(model, loader, locate):
    distances = []
    for images in loader:
        centres = locate(model.estimate(images) > 0.8)
        distances.append(float(numpy.hypot(*(centres - centres.mean(0)).T).mean()))
    return sum(distances) / len(distances)


def main():
    torch.set_num_threads(1)
    gpu, samples, epoch = Device(spin=False, memory_used=7 << 30), 0, 0
    model, locate = UNet(gpu), FitMixture()
    options = {"num_workers": 1, "persistent_workers": True}
    train_loader, val_loader = DataLoader(Mall(TRAIN), BATCH, **options), DataLoader(Mall(VALID), 1, **options)
    while not over():
        for images in train_loader:
            model.train_step(images)
            samples += len(images)
        epoch += 1
        if epoch % VAL_FREQ == 0:
            ahd = validate(model, val_loader, locate)
            print(f"Epoch {epoch} Validation AHD: {ahd:.2f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
