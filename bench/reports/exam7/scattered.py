"""Pictures of faces, each a small file on a file system that a cloud's network brings."""

# https://github.com/Fangyh09/Image2LMDB/issues/6
# Cause: each picture is opened on its own, and the network file system answers slowly for each small file.
# Fix: put all pictures into one file (an LMDB) that stays open: 1.5 times as fast.
# Line: 45, nfs_open in ImageFolder.__getitem__ (it waits at 26).

import json
import mmap
import os
import tempfile
import time

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

BATCH = 32


def nfs_open(path):
    """LOOKUP, GETATTR, ACCESS and OPEN go over the network before the first byte comes."""
    time.sleep(0.0028)
    return open(path, "rb")


def to_tensor(jpeg):
    picture = cv2.imdecode(numpy.frombuffer(jpeg, numpy.uint8), cv2.IMREAD_COLOR)
    return torch.from_numpy(picture).permute(2, 0, 1).float().div_(255)


class ImageFolder(Dataset):
    def __init__(self, root):
        folders = enumerate(sorted(os.listdir(root)))
        self.samples = [(entry.path, label) for label, folder in folders for entry in os.scandir(os.path.join(root, folder))]

    def __len__(self):
        return 20 * len(self.samples)

    def __getitem__(self, i):
        path, label = self.samples[i % len(self.samples)]
        with nfs_open(path) as file:
            return to_tensor(file.read()), label


class ImageFolderLMDB(Dataset):
    """One file and where each record lies in it."""

    def __init__(self, path):
        with nfs_open(f"{path}.keys") as keys:
            self.keys = json.load(keys)
        with nfs_open(path) as file:
            self.records = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __len__(self):
        return 20 * len(self.keys)

    def __getitem__(self, i):
        start, end, label = self.keys[i % len(self.keys)]
        return to_tensor(self.records[start:end]), label


def folder2lmdb(root, path):
    keys, at = [], 0
    with open(path, "wb") as file:
        for source, label in ImageFolder(root).samples:
            with open(source, "rb") as picture:
                at = file.write(picture.read()) + at
            keys.append((keys[-1][1] if keys else 0, at, label))
    with open(f"{path}.keys", "w") as file:
        json.dump(keys, file)
    return ImageFolderLMDB(path)


def make_faces(root, classes=6, each=40):
    face = numpy.random.default_rng(0).integers(0, 255, (112, 112, 3), dtype=numpy.uint8)
    for label in range(classes):
        os.makedirs(os.path.join(root, f"{label:03}"))
        for i in range(each):
            picture = cv2.GaussianBlur(numpy.roll(face, i, 1), (0, 0), 2 + label)
            cv2.imwrite(os.path.join(root, f"{label:03}", f"{i}.jpg"), picture)
    return root


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu, samples, step = Device(spin=False), 0, 0
    with tempfile.TemporaryDirectory() as home:
        root = make_faces(os.path.join(home, "faces"))
        dataset = folder2lmdb(root, os.path.join(home, "faces.lmdb")) if FIX else ImageFolder(root)
        loader = DataLoader(dataset, BATCH, shuffle=True, num_workers=2, pin_memory=True, persistent_workers=True)
        while not over():
            for pictures, labels in loader:
                gpu.copy(pictures.nbytes, pinned=True, non_blocking=True)
                gpu.launch(0.012, "resnet50, margin loss")
                gpu.launch(0.024, "backward, sgd")
                step, samples = step + 1, samples + len(labels)
                if step % 20 == 0:
                    print(f"step {step}: loss {gpu.item():.3f}", flush=True)
                if over():
                    break
        done(gpu, samples)


if __name__ == "__main__":
    main()
