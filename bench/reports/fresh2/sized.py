"""Each picture is decoded before training starts, only to learn its width and height (LibreYOLO/libreyolo#63)."""

import os
import tempfile

import cv2
import numpy
import torch
from common import FIX, done, over
from PIL import Image
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

FOLDER = os.path.join(tempfile.gettempdir(), "stoker-reports-yolo-960")


def make_images(count=40):
    os.makedirs(FOLDER, exist_ok=True)
    noise = cv2.resize(numpy.random.default_rng(0).integers(0, 255, (120, 160, 3), numpy.uint8), (1280, 960))
    paths = [os.path.join(FOLDER, f"{n:02d}.jpg") for n in range(count)]
    for path in paths:
        if not os.path.exists(path):
            cv2.imwrite(path, noise)
        with open(path.replace(".jpg", ".txt"), "w") as labels:
            labels.write("".join(f"{n} 0.5 0.5 0.1 0.2\n" for n in range(8)))
    return paths * 12


class YOLODataset(Dataset):
    def __init__(self, paths):
        self.paths = paths
        self.annotations = [self.load_label(path) for path in paths]

    def load_label(self, path):
        if FIX:
            with Image.open(path) as picture:
                width, height = picture.size
        else:
            height, width = cv2.imread(path).shape[:2]
        with open(path.replace(".jpg", ".txt")) as labels:
            rows = numpy.array([[float(word) for word in line.split()] for line in labels])
        return rows[:, 1:] * [width, height, width, height]

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        return torch.zeros(3, 64, 64), torch.from_numpy(self.annotations[i])


def main():
    cv2.setNumThreads(1)
    paths = make_images()
    over()
    gpu, data, samples = Device(), YOLODataset(paths), 0
    loader = DataLoader(data, batch_size=8, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while True:
        for images, _ in loader:
            gpu.copy(images.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.025, "step")
            samples += len(images)
            if over():
                break
        gpu.synchronize(spin=False)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
