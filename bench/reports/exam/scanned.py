"""Each label file is read and each image opened at every start, before the first step (ultralytics/yolov3#1145)."""

import os
import tempfile

import numpy
import torch
from common import FIX, done, over
from PIL import Image
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

FOLDER = os.path.join(tempfile.gettempdir(), "stoker-exam-coco")
SAVED = os.path.join(FOLDER, "labels.npy")


def make_files(count=200):
    os.makedirs(FOLDER, exist_ok=True)
    paths = [os.path.join(FOLDER, f"{n:05d}.jpg") for n in range(count)]
    for path in paths:
        if not os.path.exists(path):
            Image.new("RGB", (64, 64)).save(path)
            with open(path.replace("jpg", "txt"), "w") as file:
                file.writelines(f"{n % 80} 0.{n % 10}1 0.42 0.13 0.24\n" for n in range(12))
    return paths * 120


class LoadImagesAndLabels(Dataset):
    def __init__(self, paths):
        self.paths = paths
        if FIX:
            self.labels = numpy.load(SAVED, mmap_mode="r")
            return
        self.labels = [None] * len(paths)
        for i, path in enumerate(paths):
            with open(path.replace("jpg", "txt")) as file:
                label = numpy.array([line.split() for line in file.read().splitlines()], numpy.float32)
            assert label.shape[1] == 5 and (label >= 0).all() and (label[:, 1:] <= 1).all(), path
            with Image.open(path) as image:
                assert min(image.size) > 9, path
            self.labels[i] = label

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return torch.zeros(3, 64, 64), torch.from_numpy(numpy.array(self.labels[i]))


def main():
    paths = make_files()
    if FIX:
        numpy.save(SAVED, numpy.zeros((len(paths), 12, 5), numpy.float32))
    over()
    gpu, data, samples = Device(), LoadImagesAndLabels(paths), 0
    loader = DataLoader(data, batch_size=16, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for images, labels in loader:
            gpu.copy(images.nbytes + labels.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.025, "step")
            samples += len(images)
            if over():
                break
        gpu.synchronize(spin=False)
    done(gpu, samples)


if __name__ == "__main__":
    main()
