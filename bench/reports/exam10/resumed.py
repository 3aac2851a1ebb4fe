"""Streets are segmented in a run that goes by iterations and was stopped; it goes on where it was."""

# https://github.com/VBTI-development/onedl-mmengine/pull/33
# Cause: to find its place the loop asks the loader for every batch that was trained on before, and throws it away.
# Fix: skip in the sampler of batches, which loads nothing.
# Line: 73 to 74, 91: IterBasedTrainLoop.run before the first iteration; what is loaded is made in CityscapesDataset.__getitem__.

import itertools

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler

BATCH, RESUME_ITER, CROP = 4, 580, (128, 256)


class CityscapesDataset(Dataset):
    def __init__(self, count=2400):
        draw = numpy.random.default_rng(0)
        street = cv2.GaussianBlur(draw.integers(0, 255, (256, 800, 3), dtype=numpy.uint8), (0, 0), 4)
        self.pictures = [cv2.imencode(".png", street[:, v : v + 512])[1] for v in range(0, 200, 10)]
        self.labels = [cv2.imencode(".png", street[:, v : v + 512, 0] // 14)[1] for v in range(0, 200, 10)]
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        image = cv2.imdecode(self.pictures[i % 20], cv2.IMREAD_COLOR)
        label = cv2.imdecode(self.labels[i % 20], cv2.IMREAD_GRAYSCALE)
        y, x = numpy.random.randint(0, 256 - CROP[0]), numpy.random.randint(0, 512 - CROP[1])
        image, label = (numpy.ascontiguousarray(part[y : y + CROP[0], x : x + CROP[1]]) for part in (image, label))
        return torch.from_numpy(image), torch.from_numpy(label)


class ResumableBatchSampler(BatchSampler):
    """Leaves out the first batches of its first pass."""

    skip = 0

    def __iter__(self):
        skip, self.skip = self.skip, 0
        yield from itertools.islice(super().__iter__(), skip, None)


class EncoderDecoder:
    def __init__(self, gpu):
        self.gpu = gpu

    def train_step(self, images, labels):
        self.gpu.copy(images.nbytes + labels.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.014, "resnet, decode head")
        self.gpu.launch(0.031, "losses, backward, sgd")


class IterBasedTrainLoop:
    def __init__(self, model, dataloader, iteration):
        self.model, self.dataloader, self.iteration, self.samples = model, dataloader, iteration, 0

    def endless(self):
        while True:
            yield from self.dataloader

    def run(self):
        if FIX:
            self.dataloader.batch_sampler.skip = self.iteration
        batches = self.endless()
        if not FIX:
            print(f"Advance dataloader {self.iteration} steps to skip data that has already been trained", flush=True)
            for _ in range(self.iteration):
                next(batches)
        while not over():
            images, labels = next(batches)
            self.model.train_step(images, labels)
            self.iteration, self.samples = self.iteration + 1, self.samples + len(images)
            if self.iteration % 50 == 0:
                print(f"Iter(train) [{self.iteration:5d}/80000]  loss: {self.model.gpu.item():.4f}", flush=True)


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu, dataset = Device(spin=False), CityscapesDataset()
    sampler = ResumableBatchSampler(RandomSampler(dataset), BATCH, drop_last=True)
    loader = DataLoader(dataset, batch_sampler=sampler, num_workers=1, pin_memory=True, persistent_workers=True)
    over()
    loop = IterBasedTrainLoop(EncoderDecoder(gpu), loader, RESUME_ITER)
    loop.run()
    done(gpu, loop.samples)


if __name__ == "__main__":
    main()
