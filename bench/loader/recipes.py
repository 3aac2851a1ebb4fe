#!/usr/bin/env python3
"""What `stoker feed --` saves of recipes of OpenCV and albumentations: processor time of all processes, alone and fed in
turn, on photos of about 90 KB.

    make build
    python bench/loader/recipes.py --rounds 5         # with a Python that has torch, OpenCV and albumentations

Each has two workers. A run whose sum differs from the others' ends the bench.
"""

import argparse
import os
import statistics
import sys
import tempfile

from unfed import BINARY, once

PICTURES, COUNT, BATCH, EPOCHS = 64, 640, 32, 3


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=list(RECIPES))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--run")
    options = parser.parse_args()
    if options.run:
        return run(options.run)
    print(f"{options.rounds} rounds in turn, load average {os.getloadavg()[0]:.1f} at the beginning\n")
    print("| recipe | pictures | CPU-ms a picture, alone | fed | fed / alone, median of rounds (lowest-highest) | said |")
    print("|---|---|---|---|---|---|")
    for name in options.only:
        compare(name, options)
    print(f"\nload average {os.getloadavg()[0]:.1f} at the end")
    return 0


def compare(name, options):
    """A row: both ways in each round, each first in every other one. What it takes to begin is taken away."""
    cost, sums, said = {"alone": [], "fed": []}, set(), ""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.rounds + 1):  # the first warms up: compiled modules, the check at start-up
            for way in ("alone", "fed") if number % 2 else ("fed", "alone"):
                before = [] if way == "alone" else [BINARY, "feed", "--"]
                command = [options.python, os.path.abspath(__file__), "--run", name]
                idle, _, _ = once(before, [*command[:-1], "nothing"], folder)
                seconds, out, err = once(before, command, folder)
                sums.add(out)
                if number:
                    cost[way].append(seconds - idle)
                if way == "fed":
                    said = "; ".join(line.removeprefix("stoker: feed: ") for line in err.splitlines() if line.startswith("stoker"))
    if len(sums) != 1:
        raise SystemExit(f"{name}: runs differ: {sums}")
    ratios = [fed / alone for fed, alone in zip(cost["fed"], cost["alone"])]
    each = [f"{1000 * statistics.median(cost[way]) / (COUNT * EPOCHS):.2f}" for way in ("alone", "fed")]
    print(f"| {name} | {COUNT * EPOCHS} | {each[0]} | {each[1]} | {statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f}) | {said} |", flush=True)


def run(name):
    import albumentations  # noqa: F401 # so that all begin alike
    import cv2
    import torch

    cv2.setNumThreads(0)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    data = Photos(RECIPES[name]() if name != "nothing" else None)
    total = 0.0
    for _ in range(EPOCHS if name != "nothing" else 0):
        for batch in torch.utils.data.DataLoader(data, BATCH, num_workers=2):
            total += float(batch.double().sum())
    print(f"{total:.6f}")
    return 0


class Photos:
    """Photos, written once into the folder of the cache."""

    def __init__(self, steps):
        import cv2
        import numpy as np

        self.steps = steps
        self.folder = os.path.join(os.environ["XDG_CACHE_HOME"], "photos")
        if not os.path.isdir(self.folder):
            chance = np.random.default_rng(3)
            os.makedirs(self.folder)
            for number in range(PICTURES):
                photo = cv2.resize(chance.integers(0, 256, (25, 33, 3), np.uint8), (500, 375), interpolation=cv2.INTER_CUBIC)
                grain = cv2.GaussianBlur(chance.normal(0, 30, photo.shape), (3, 3), 0)
                cv2.imwrite(self.path(number), np.clip(photo + grain, 0, 255).astype(np.uint8), (cv2.IMWRITE_JPEG_QUALITY, 92))

    def path(self, index):
        return os.path.join(self.folder, f"{index % PICTURES:02}.jpg")

    def __len__(self):
        return COUNT

    def __getitem__(self, index):
        return self.steps(self.path(index))


def rgb(path):
    import cv2

    return cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB)


def albumented(*steps):
    import albumentations as A
    from albumentations.pytorch import ToTensorV2

    compose = A.Compose([*steps, A.Normalize(), ToTensorV2()], seed=3)
    return lambda path: compose(image=rgb(path))["image"]


def training():
    import albumentations as A

    return albumented(A.RandomResizedCrop((224, 224)), A.HorizontalFlip())


def validation():
    import albumentations as A

    return albumented(A.Resize(256, 256), A.CenterCrop(224, 224))


def competition():
    import albumentations as A

    return albumented(A.Resize(256, 256), A.Affine(scale=(0.8, 1.2), rotate=(-20, 20), p=1), A.RandomBrightnessContrast(p=1), A.HueSaturationValue(p=1))


def plain():
    """OpenCV alone, as many write it."""
    import cv2
    import numpy as np
    import torch

    def steps(path):
        image = cv2.resize(rgb(path), (256, 256))[16:240, 16:240]
        if np.random.rand() < 0.5:
            image = cv2.flip(image, 1)
        return torch.from_numpy((image.astype(np.float32) / 255).transpose(2, 0, 1).copy())

    return steps


RECIPES = {"training": training, "validation": validation, "competition": competition, "plain": plain}


if __name__ == "__main__":
    sys.exit(main())
