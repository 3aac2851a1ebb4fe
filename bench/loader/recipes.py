#!/usr/bin/env python3
"""What `stoker feed` saves of recipes of OpenCV and albumentations, on photos of about 90 KB.

    make build
    python bench/loader/recipes.py --rounds 5         # with a Python that has torch, OpenCV and albumentations
    python bench/loader/recipes.py --rounds 5 --peers # and OpenCV in threads, DALI and SPDL (bench/loader/install-peers dali spdl)
    python bench/loader/recipes.py --each             # each of the transforms that are asked for most: whole or in part, and equal

A process loads the same photos alone and fed, in turn, without workers. A row has the processor time of that process and
of the daemon that it feeds from, and how many pictures were made by Go to the end. A batch that differs ends the bench.
"""

import argparse
import glob
import os
import statistics
import subprocess
import sys
import tempfile
import time

import albumentations as A
import cv2
import numpy as np
import torch
from albumentations.pytorch import ToTensorV2

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "python"))
os.environ.setdefault("STOKER_BIN", os.path.join(ROOT, "bin", "stoker"))

from stoker import _defer, _opencv, _pictures, _share  # noqa: E402

COUNT, BATCH = 128, 32
VENVS = os.path.join(ROOT, "bench", "loader", ".venv")
PEERS = {
    "opencv": ("OpenCV in threads", sys.executable),
    "dali": ("DALI, CPU", f"{VENVS}/dali/bin/python"),
    "spdl": ("SPDL", f"{VENVS}/spdl/bin/python"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--all", action="store_true", help="also what is left to OpenCV, as that is faster")
    parser.add_argument("--only", nargs="*", default=list(RECIPES))
    parser.add_argument("--peers", action="store_true", help="albumentations' recipes with its peers as well, in the same rounds")
    parser.add_argument("--each", action="store_true", help="what is made of single transforms, without time")
    options = parser.parse_args()
    cv2.setNumThreads(0)
    torch.set_num_threads(1)
    if options.all:
        _opencv.dear().clear()
    _share.begin()
    _share.lasts.clear()
    if options.each:
        return tell_each()
    print(f"OpenCV {cv2.__version__}, albumentations {A.__version__}; {options.rounds} rounds in turn, load average {os.getloadavg()[0]:.1f} at the beginning\n")
    peers = PEERS if options.peers else {}
    with tempfile.TemporaryDirectory() as folder:
        files = photos(folder)
        more = "".join(f" {name} | fed / it |" for name, _ in peers.values())
        print(f"| recipe | pictures a round | CPU-ms a picture, alone | fed | fed / alone | made by Go: whole, in part, left |{more}")
        print("|---|---|---|---|---|---|" + "---|---|" * len(peers))
        for name in options.only:
            number = list(RECIPES).index(name)
            compare(name, files, options.rounds, [Peer(key, number, folder) for key in peers if name.endswith("ToTensorV2")])
    print(f"\nMedians; of the ratios that are formed in each round, with the lowest and highest. Load average {os.getloadavg()[0]:.1f} at the end")
    return 0


def tell_each():
    with tempfile.TemporaryDirectory() as folder:
        files = photos(folder)
        print(f"OpenCV {cv2.__version__}, albumentations {A.__version__}\n\n| transform | pictures whole, in part, left | equal |\n|---|---|---|")
        for name, make in EACH.items():
            data, before = Photos(files, make()), _share.counted()[0][:3]
            alone, fed = once(data, False)[1], once(data, True)[1]
            made = [now - then for now, then in zip(_share.counted()[0][:3], before)]
            print(f"| {name} | {', '.join(map(str, made))} | {'yes' if all(map(torch.equal, alone, fed)) else '**no**'} |", flush=True)
    return 0


class Peer:
    """Another program that makes COUNT pictures when it is told to."""

    def __init__(self, key, recipe, folder):
        command = [PEERS[key][1], os.path.join(os.path.dirname(os.path.abspath(__file__)), "recipe_peers.py"), key, str(recipe), folder]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.cost = []

    def run(self, kept):
        print("go", file=self.process.stdin, flush=True)
        seconds = float(self.process.stdout.readline())
        if kept:
            self.cost.append(seconds)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def compare(name, files, rounds, peers):
    """A row: all ways in each round, alone and fed each first in every other one; the first round warms up."""
    cost = {"alone": [], "fed": []}
    data = Photos(files, RECIPES[name]())
    for number in range(rounds + 1):
        batches = {}
        before = _share.counted()[0][:3]
        for way in ("alone", "fed") if number % 2 else ("fed", "alone"):
            seconds, batches[way] = once(data, way == "fed")
            if number:
                cost[way].append(seconds)
        made = [now - then for now, then in zip(_share.counted()[0][:3], before)]
        if not all(map(torch.equal, batches["alone"], batches["fed"])):
            raise SystemExit(f"{name}: batches differ")
        for peer in peers:
            peer.run(number)
    more = "".join(f" {per_picture(peer.cost)} | {ratio(cost['fed'], peer.cost)} |" for peer in peers)
    print(f"| {name} | {COUNT} | {per_picture(cost['alone'])} | {per_picture(cost['fed'])} | {ratio(cost['fed'], cost['alone'])} | {', '.join(map(str, made))} |{more}", flush=True)
    for peer in peers:
        peer.end()


def per_picture(seconds):
    return f"{1000 * statistics.median(seconds) / COUNT:.2f}"


def ratio(ours, theirs):
    ratios = [one / other for one, other in zip(ours, theirs)]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"


def once(data, fed):
    """Processor seconds of all batches, and they."""
    begin = time.process_time() + of_daemon()
    if fed:
        with _defer.deferring():
            batches = list(torch.utils.data.DataLoader(data, BATCH))
    else:
        batches = list(torch.utils.data.DataLoader(data, BATCH))
    return time.process_time() + of_daemon() - begin, batches


def of_daemon():
    """Processor seconds of this process's children that live: the daemon."""
    seconds = 0.0
    for path in glob.glob("/proc/self/task/*/children"):
        with open(path) as file:
            for child in file.read().split():
                with open(f"/proc/{child}/stat") as stat:
                    seconds += sum(map(int, stat.read().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")
    return seconds


def photos(folder):
    """Photos with some grain."""
    chance, files = np.random.default_rng(3), []
    for number in range(32):
        photo = cv2.resize(chance.integers(0, 256, (25, 33, 3), np.uint8), (500, 375), interpolation=cv2.INTER_CUBIC)
        grain = cv2.GaussianBlur(chance.normal(0, 30, photo.shape), (3, 3), 0)
        files.append(os.path.join(folder, f"{number:02}.jpg"))
        cv2.imwrite(files[-1], np.clip(photo + grain, 0, 255).astype(np.uint8), (cv2.IMWRITE_JPEG_QUALITY, 92))
    print(f"photos of {sum(map(os.path.getsize, files)) // len(files) // 1000} KB\n")
    return files


class Photos:
    """The same numbers are drawn of a photo each time."""

    def __init__(self, files, steps):
        self.files, self.steps = files, steps

    def __len__(self):
        return COUNT

    def __getitem__(self, index):
        return self.steps(self.files[index % len(self.files)], index)


def rgb(path):
    return cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB)


def albumented(*steps):
    compose = A.Compose([*steps, A.Normalize(), ToTensorV2()])

    def run(path, seed):
        compose.set_random_seed(seed)
        return compose(image=rgb(path))["image"]

    return run


def plain(*steps):
    """OpenCV alone, as many write it: functions of a picture and a number."""

    def run(path, seed):
        image = rgb(path)
        for step in steps:
            image = step(image, seed)
        return torch.from_numpy((image.astype(np.float32) / 255).transpose(2, 0, 1).copy())

    return run


def resized(kind=cv2.INTER_LINEAR):
    return lambda image, seed: cv2.resize(image, (256, 256), interpolation=kind)


def cut(image, seed):
    image = image[16:240, 16:240]
    return cv2.flip(image, 1) if seed % 2 else image


def contrasted(image, seed):
    """What a blur leaves, as is usual of photos of the eye."""
    return cv2.addWeighted(image, 4, cv2.GaussianBlur(image, (0, 0), 10), -4, 128)


def projected(image, seed):
    height, width = image.shape[:2]
    corners = np.float32([[0, 0], [width, 0], [width, height], [0, height]])
    moved = np.float32(corners * (256 / width, 256 / height) + np.random.default_rng(seed).uniform(-20, 20, (4, 2)))
    return cv2.warpPerspective(image, cv2.getPerspectiveTransform(corners, moved), (256, 256))


def turned(image, seed):
    height, width = image.shape[:2]
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), seed % 40 - 20, 0.7)
    matrix[:, 2] += 128 - width / 2, 128 - height / 2
    return cv2.warpAffine(image, matrix, (256, 256))


RECIPES = {
    "RandomResizedCrop, HorizontalFlip, Normalize, ToTensorV2": lambda: albumented(A.RandomResizedCrop((224, 224)), A.HorizontalFlip()),
    "Resize(256), CenterCrop(224), Normalize, ToTensorV2": lambda: albumented(A.SmallestMaxSize(256), A.CenterCrop(224, 224)),
    "Resize, Affine, RandomBrightnessContrast, HueSaturationValue, Normalize, ToTensorV2": lambda: albumented(
        A.Resize(256, 256), A.Affine(scale=(0.8, 1.2), rotate=(-20, 20), p=1), A.RandomBrightnessContrast(p=1), A.HueSaturationValue(p=1)
    ),
    "imread, resize, slice, flip, / 255 of OpenCV alone": lambda: plain(resized(), cut),
    "imread, resize cubic, slice, flip, / 255": lambda: plain(resized(cv2.INTER_CUBIC), cut),
    "imread, resize, GaussianBlur, / 255": lambda: plain(resized(), lambda image, seed: cv2.GaussianBlur(image, (0, 0), 0.5 + seed % 8 / 4)),
    "imread, resize, addWeighted with a wide GaussianBlur, / 255": lambda: plain(resized(), contrasted),
    "imread, warpPerspective, / 255": lambda: plain(projected),
    "imread, warpAffine, / 255": lambda: plain(turned),
    "imread, resize, RGB2LAB, / 255": lambda: plain(resized(), lambda image, seed: cv2.cvtColor(image, cv2.COLOR_RGB2LAB)),
    "imread, resize, RGB2HSV, / 255": lambda: plain(resized(), lambda image, seed: cv2.cvtColor(image, cv2.COLOR_RGB2HSV)),
    "RandomResizedCrop cubic, HorizontalFlip, Normalize and ToTensorV2": lambda: albumented(
        A.RandomResizedCrop((224, 224), interpolation=cv2.INTER_CUBIC), A.HorizontalFlip()
    ),
}

EACH = {
    "RandomResizedCrop": lambda: albumented(A.RandomResizedCrop((224, 224))),
    "SmallestMaxSize, CenterCrop": lambda: albumented(A.SmallestMaxSize(256), A.CenterCrop(224, 224)),
    "LongestMaxSize, PadIfNeeded": lambda: albumented(A.LongestMaxSize(256), A.PadIfNeeded(256, 256)),
    "PadIfNeeded, RandomCrop": lambda: albumented(A.PadIfNeeded(512, 512), A.RandomCrop(224, 224)),
} | {
    name: lambda name=name, more=more: albumented(A.Resize(224, 224), getattr(A, name)(p=1, **more))
    for name, more in {
        **dict.fromkeys(("HorizontalFlip", "VerticalFlip", "Transpose", "RandomRotate90", "D4"), {}),
        "Affine": {"scale": (0.8, 1.2), "rotate": (-20, 20)},
        **dict.fromkeys(("Rotate", "Perspective", "CoarseDropout", "RandomBrightnessContrast", "RandomGamma", "HueSaturationValue"), {}),
        **dict.fromkeys(("RGBShift", "ColorJitter", "ToGray", "Posterize", "Solarize", "InvertImg", "Equalize", "CLAHE"), {}),
        **dict.fromkeys(("Blur", "GaussianBlur", "MotionBlur", "Sharpen", "GaussNoise", "ChannelShuffle", "ImageCompression"), {}),
    }.items()
}


if __name__ == "__main__":
    sys.exit(main())
