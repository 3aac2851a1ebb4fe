"""Validation reads its images one by one in the training process (open-mmlab/mmdetection#691)."""

import io
import time

import numpy
import torch
from common import FIX, done, over
from PIL import Image
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset, default_collate


def make_image():
    file = io.BytesIO()
    pixels = numpy.random.default_rng(0).integers(0, 255, (60, 80, 3), numpy.uint8)
    Image.fromarray(pixels).resize((320, 240)).save(file, "JPEG", quality=90)
    return file.getvalue()


class CocoDataset(Dataset):
    def __init__(self, count, size):
        self.data, self.count, self.size = make_image(), count, size

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        time.sleep(0.006)  # a disk with other users
        image = Image.open(io.BytesIO(self.data)).convert("RGB").resize(self.size)
        return torch.from_numpy(numpy.array(image)).permute(2, 0, 1), i


class DistEvalHook:
    def __init__(self, dataset, interval=1):
        self.dataset, self.interval = dataset, interval

    def after_train_epoch(self, runner):
        if runner.epoch % self.interval:
            return
        results = [None] * len(self.dataset)
        if FIX:
            for n, data in enumerate(DataLoader(self.dataset, batch_size=1, num_workers=2, pin_memory=True)):
                results[n] = runner.batch_processor(data)
        else:
            for idx in range(len(self.dataset)):
                data = self.dataset[idx]
                results[idx] = runner.batch_processor(default_collate([data]))
        print(f"{sum(result is not None for result in results)} images", flush=True)


class Runner:
    def __init__(self, hook):
        self.gpu, self.hook, self.epoch, self.samples = Device(spin=False), hook, 0, 0

    def batch_processor(self, data):
        with torch.no_grad():
            self.gpu.copy(data[0].nbytes)
            self.gpu.launch(0.005, "forward")
            return self.gpu.item()

    def run(self, loader):
        while not over():
            for images, _ in loader:
                self.gpu.copy(images.nbytes, pinned=True, non_blocking=True)
                self.gpu.launch(0.02, "step")
                self.gpu.item()
                self.samples += len(images)
                if over():
                    return
            self.epoch += 1
            self.hook.after_train_epoch(self)


def main():
    torch.set_num_threads(1)
    runner = Runner(DistEvalHook(CocoDataset(200, (400, 300))))
    loader = DataLoader(CocoDataset(120, (96, 72)), 4, shuffle=True, num_workers=2, pin_memory=True, persistent_workers=True)
    runner.run(loader)
    done(runner.gpu, runner.samples)


if __name__ == "__main__":
    main()
