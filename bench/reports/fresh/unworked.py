"""Images are read and letterboxed by the thread that trains: the loader has no workers (OniroAI/MonoDepth-PyTorch#8)."""

import os
import tempfile

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

FOLDER = os.path.join(tempfile.gettempdir(), "stoker-reports-coco")


def make_images(count=40):
    os.makedirs(FOLDER, exist_ok=True)
    noise = cv2.resize(numpy.random.default_rng(0).integers(0, 255, (48, 64, 3), numpy.uint8), (640, 480))
    paths = [os.path.join(FOLDER, f"{n:02d}.jpg") for n in range(count)]
    for path in paths:
        cv2.imwrite(path, noise)
    return paths


def load_image(path):
    picture = cv2.resize(cv2.imread(path), (416, 312))
    picture = cv2.copyMakeBorder(picture, 52, 52, 0, 0, cv2.BORDER_CONSTANT, value=(128, 128, 128))
    return numpy.ascontiguousarray(picture[:, :, ::-1].transpose(2, 0, 1), numpy.float32) / 255


class Images(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        return torch.from_numpy(load_image(self.paths[i]))


def main():
    cv2.setNumThreads(1)
    torch.set_num_threads(1)
    paths = make_images() * 100
    gpu, samples = Device(spin=False), 0
    loader = DataLoader(Images(paths), batch_size=4, shuffle=True, num_workers=2 if FIX else 0)
    while not over():
        for batch in loader:
            gpu.copy(batch.nbytes)
            gpu.launch(0.025, "step")
            gpu.item()
            samples += len(batch)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
