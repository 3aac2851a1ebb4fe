"""Things and people are found in pictures of a large data set by a detector in two stages."""

# https://github.com/jwyang/faster-rcnn.pytorch/pull/425
# Cause: before training each picture is opened for its size, one after the other, on storage that is slow to open files.
# Fix: sizes are kept in a file after the first time.
# Line: 38 to 39, 45 to 49, 54, 61, 97: imdb.sizes, called by prepare_roidb in combined_roidb.

import pickle
import tempfile
import time
from pathlib import Path

import cv2
import numpy
import PIL.Image
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

FILES, ENTRIES, BATCH, LATENCY = 60, 3600, 2, 0.003


class VisualGenome:
    """The pictures of a data set, on a server's disk; the cache folder is local."""

    def __init__(self, folder):
        self.folder, self.cache = Path(folder), Path(folder, "cache")
        self.cache.mkdir()
        noise = cv2.GaussianBlur(numpy.random.default_rng(0).integers(0, 255, (96, 400, 3), dtype=numpy.uint8), (0, 0), 3)
        for i in range(FILES):
            cv2.imwrite(f"{folder}/{i}.jpg", noise[:, i : i + 100 + i % 30])
        if FIX:
            sizes = [PIL.Image.open(f"{folder}/{i % FILES}.jpg").size for i in range(ENTRIES)]
            (self.cache / "vg_train_sizes.pkl").write_bytes(pickle.dumps(sizes))

    def image_path_at(self, i):
        time.sleep(LATENCY)
        return self.folder / f"{i % FILES}.jpg"

    def sizes(self):
        kept = self.cache / "vg_train_sizes.pkl"
        if kept.exists():
            return pickle.loads(kept.read_bytes())
        sizes = []
        for i in range(ENTRIES):
            with PIL.Image.open(self.image_path_at(i)) as image:
                sizes.append(image.size)
        return sizes


def prepare_roidb(imdb):
    roidb, draw = [], numpy.random.default_rng(1)
    for i, (width, height) in enumerate(imdb.sizes()):
        boxes = draw.random((8, 4)).astype(numpy.float32) * (width, height, width, height)
        roidb.append({"image": i, "width": width, "height": height, "boxes": boxes.astype(numpy.float32)})
    return roidb


def combined_roidb(imdb):
    roidb = prepare_roidb(imdb)
    roidb += [entry | {"flipped": True} for entry in roidb]
    ratios = numpy.array([entry["width"] / entry["height"] for entry in roidb])
    return roidb, numpy.argsort(ratios)


class roibatchLoader(Dataset):  # noqa: N801
    def __init__(self, imdb, roidb, ratio_index):
        self.imdb, self.roidb, self.index = imdb, roidb, ratio_index

    def __len__(self):
        return len(self.roidb)

    def __getitem__(self, i):
        entry = self.roidb[self.index[i]]
        image = cv2.resize(cv2.imread(str(self.imdb.image_path_at(entry["image"]))), (160, 96))
        return torch.from_numpy(image), torch.from_numpy(entry["boxes"])


class FasterRCNN:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, images, boxes):
        self.gpu.copy(images.nbytes + boxes.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.021, "resnet, rpn")
        self.gpu.launch(0.043, "proposals, losses, backward, sgd")


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu, samples, step = Device(spin=False), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        imdb, model = VisualGenome(folder), FasterRCNN(gpu)
        over()
        roidb, ratio_index = combined_roidb(imdb)
        print(f"{len(roidb)} roidb entries", flush=True)
        dataset = roibatchLoader(imdb, roidb, ratio_index)
        loader = DataLoader(dataset, BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
        while not over():
            for images, boxes in loader:
                model.step(images, boxes)
                step, samples = step + 1, samples + len(images)
                if step % 50 == 0:
                    print(f"[session 1][epoch  1][iter {step:4d}] loss: {gpu.item():.4f}, lr: 1.00e-03", flush=True)
                if over():
                    break
        done(gpu, samples)


if __name__ == "__main__":
    main()
