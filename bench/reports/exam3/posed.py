"""Workers start again in each epoch, and each opens its storage again (open-mmlab/mmpose#923)."""

import json
import os
import tempfile

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

INDEX = os.path.join(tempfile.gettempdir(), "stoker-exam3-lmdb.json")


def make_index(count=300_000):
    if not os.path.exists(INDEX):
        with open(INDEX, "w") as file:
            json.dump({f"train2017/{n:012d}.jpg": [n * 131072, 131072] for n in range(count)}, file)


class FileClient:
    """A store of images in one file, whose index is read when it is opened."""

    def __init__(self, path):
        with open(path) as file:
            self.index = json.load(file)

    def get(self, name):
        offset, size = self.index[name]
        return torch.full((3, 32, 24), float(offset % 7 + size % 3))


class LoadImageFromFile:
    def __init__(self, path):
        self.path, self.file_client = path, None

    def __call__(self, results):
        if self.file_client is None:
            self.file_client = FileClient(self.path)
        results["img"] = self.file_client.get(results["image_file"])
        return results


class TopDownCocoDataset(Dataset):
    def __init__(self, path, pipeline):
        with open(path) as file:
            names = list(json.load(file))[:960]
        self.db = [{"image_file": name, "center": [96, 128], "scale": [1.2, 1.6], "joints": [[n, n] for n in range(17)]} for name in names]
        self.pipeline = pipeline

    def __len__(self):
        return len(self.db)

    def __getitem__(self, i):
        results = self.pipeline(dict(self.db[i]))
        return results["img"], torch.tensor(results["joints"], dtype=torch.float32)


def main():
    torch.set_num_threads(1)
    make_index()
    gpu, samples = Device(spin=False), 0
    data = TopDownCocoDataset(INDEX, LoadImageFromFile(INDEX))
    loader = DataLoader(data, batch_size=32, shuffle=True, num_workers=2, pin_memory=True, persistent_workers=FIX)
    while not over():
        for images, targets in loader:
            gpu.copy(images.nbytes + targets.nbytes)
            gpu.launch(0.02, "step")
            gpu.item()
            samples += len(images)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
