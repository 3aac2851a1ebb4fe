#!/usr/bin/env python3
"""Input pipelines of torchvision's v2 on tensors, alone and under `stoker feed --`: how much the daemon makes,
whether batches are equal, and the cost.

    python bench/loader/tensors.py                     photographs are drawn; the table of TENSORS.md
    python bench/loader/tensors.py --only training     pipelines whose names have the text
    python bench/loader/tensors.py --rounds 3          each so often, alone and fed in turn

Each run is a separate process: an epoch with two workers whose batches are compared by digest, then two more for the CPU time
of all processes, the daemon's included.
"""

import argparse
import hashlib
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import account

ROOT = Path(__file__).resolve().parents[2]
COUNT, BATCH, SIZE = 192, 32, (500, 375)
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def draw(folder):
    """Photographs, nearly: smooth, with noise that makes them as long as such files are."""
    import numpy as np
    from PIL import Image

    chance = np.random.default_rng(5)
    for number in range(COUNT):
        place = Path(folder, "train", "cat" if number % 2 else "dog")
        place.mkdir(parents=True, exist_ok=True)
        smooth = Image.fromarray(chance.integers(0, 256, (9, 12, 3), dtype=np.uint8)).resize(SIZE, Image.Resampling.BICUBIC)
        noisy = np.clip(np.asarray(smooth, np.int16) + chance.normal(0, 14, (*SIZE[::-1], 3)).astype(np.int16), 0, 255)
        Image.fromarray(noisy.astype(np.uint8)).save(place / f"{number:03}.jpg", quality=85)


def pipelines():
    import torch
    from PIL import Image
    from torch.utils.data import Dataset
    from torchvision import io, tv_tensors
    from torchvision import transforms as T
    from torchvision.datasets import ImageFolder
    from torchvision.transforms import v2

    tail = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    bicubic = v2.InterpolationMode.BICUBIC

    class Read(Dataset):
        def __init__(self, root, read):
            self.samples, self.read = ImageFolder(os.path.join(root, "train")).samples, read

        def __len__(self):
            return len(self.samples)

        def __getitem__(self, index):
            path, label = self.samples[index]
            return self.read(path), label

    class Detection(Read):
        def __getitem__(self, index):
            path, label = self.samples[index]
            image = Image.open(path).convert("RGB")
            boxes = tv_tensors.BoundingBoxes([[30.0, 40.0, 200.0, 220.0], [100.0, 20.0, 420.0, 330.0]], format="XYXY", canvas_size=image.size[::-1])
            return self.read(image, {"boxes": boxes, "labels": torch.tensor([label, 1])})

    def folder(*steps):
        return lambda root: (ImageFolder(os.path.join(root, "train"), v2.Compose([v2.ToImage(), *steps])), {})

    def read(function):
        return lambda root: (Read(root, function), {})

    def detection(*steps):
        steps = v2.Compose([v2.ToImage(), *steps, v2.ToDtype(torch.float32, scale=True), v2.SanitizeBoundingBoxes()])
        return lambda root: (Detection(root, steps), {"collate_fn": lists})

    jitter = v2.Compose([v2.RandomApply([v2.ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.8), v2.RandomGrayscale(0.2)])
    large = v2.Compose([v2.RandomResizedCrop(224, (0.32, 1), interpolation=bicubic), v2.RandomHorizontalFlip()])
    small = v2.Compose([v2.RandomResizedCrop(96, (0.05, 0.32), interpolation=bicubic), v2.RandomHorizontalFlip()])

    def dino(path, blurred=False):
        image = v2.functional.to_image(Image.open(path).convert("RGB"))
        blur = [v2.RandomApply([v2.GaussianBlur(9, (0.1, 2.0))], p=0.5)] if blurred else []
        ends = v2.Compose([jitter, *blur, v2.RandomSolarize(128, 0.2), *tail])
        return [ends(crop) for crop in (large(image), large(image), *(small(image) for _ in range(8)))]

    def robot(path):
        jitters = [v2.ColorJitter(brightness=(0.8, 1.2)), v2.ColorJitter(contrast=(0.8, 1.2)), v2.ColorJitter(saturation=(0.5, 1.5)), v2.ColorJitter(hue=0.05)]
        image = v2.functional.to_image(Image.open(path).convert("RGB"))
        return v2.Compose([v2.Resize([240, 320], antialias=True), *random.sample(jitters, 3), v2.ToDtype(torch.float32, scale=True)])(image)

    decoded = v2.Compose([v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip(), *tail])
    return {
        "training: ToImage, RandomResizedCrop, flip, ToDtype, Normalize": folder(v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip(), *tail),
        "evaluation: ToImage, Resize(256), CenterCrop(224), ToDtype, Normalize": folder(v2.Resize(256, antialias=True), v2.CenterCrop(224), *tail),
        "training, bicubic, with ColorJitter": folder(v2.RandomResizedCrop(224, interpolation=bicubic, antialias=True), v2.ColorJitter(0.4, 0.4, 0.4, 0.1), v2.RandomHorizontalFlip(), *tail),
        "training with RandomErasing": folder(v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip(), *tail, v2.RandomErasing(0.5)),
        "read_image, then v2": read(lambda path: decoded(io.read_image(path))),
        "decode_image of RGB, then v2": read(lambda path: decoded(io.decode_image(io.read_file(path), "RGB"))),
        "detection: photometric, zoom out, IoU crop, flip (SSD)": detection(v2.RandomPhotometricDistort(), v2.RandomZoomOut(fill=list(MEAN)), v2.RandomIoUCrop(), v2.RandomHorizontalFlip()),
        "detection: RandomShortestSize, RandomCrop, flip": detection(v2.RandomShortestSize([320, 400], max_size=640, antialias=True), v2.RandomCrop(320, pad_if_needed=True), v2.RandomHorizontalFlip()),
        "LeRobot: ToTensor, CenterCrop": read(lambda path: v2.CenterCrop(224)(T.ToTensor()(Image.open(path).convert("RGB")))),
        "LeRobot: image transforms on bytes": read(robot),
        "DINOv3 without blur, ten crops": read(dino),
        "DINOv3 with torchvision's blur, ten crops": read(lambda path: dino(path, True)),
        "VAR: x.add(x).add_(-1)": read(lambda path: (lambda x: x.add(x).add_(-1))(T.Compose([T.Resize(288), T.RandomCrop(256), T.ToTensor()])(Image.open(path).convert("RGB")))),
    }  # fmt: skip


def lists(samples):
    return [list(column) for column in zip(*samples)]


def job(title, root):
    """Run in a separate process; print digests and CPU time."""
    import numpy as np
    import torch

    warnings.simplefilter("ignore")
    sys.path.insert(0, str(ROOT / "python/tests"))
    from deferred_pipelines import digest

    torch.manual_seed(7)
    random.seed(7)
    np.random.seed(7)
    data, more = pipelines()[title](root)
    batches = torch.utils.data.DataLoader(data, BATCH, shuffle=True, num_workers=2, persistent_workers=True, **more)
    seen = hashlib.sha256()
    for batch in batches:
        digest(batch, seen)
    seen.update(repr((torch.rand(1).item(), random.random(), np.random.rand())).encode())
    began = account.cpu_seconds()
    for _ in range(2):
        for _ in batches:
            pass
    print("RESULT " + json.dumps({"digest": seen.hexdigest()[:16], "cpu": account.cpu_seconds() - began}))


def run(title, root, fed):
    """One run, and the share line of a fed one."""
    with account.Group() as group:
        command = [sys.executable, str(Path(__file__).resolve()), "--job", title, "--folder", root]
        if fed:
            command = [str(ROOT / "bin/stoker"), "feed", "--", *command]
        done = subprocess.run(
            command, env={**os.environ, **group.environment()}, preexec_fn=group.enter, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )  # fmt: skip
    found = re.search(r"RESULT (.*)", done.stdout)
    if done.returncode or found is None:
        raise SystemExit(f"{title}: {done.stderr[-2000:]}")
    share = [line for line in done.stderr.splitlines() if "pictures whole" in line]
    return {**json.loads(found[1]), "share": share[-1] if share else ""}


def judge(share):
    """Whole, part or none, by the share line."""
    found = re.search(r"([\d,]+) of ([\d,]+) pictures whole", share)
    whole, of = (int(each.replace(",", "")) for each in found.groups()) if found else (0, 0)
    result = "none" if not whole and "in part" not in share else "whole" if whole >= 0.9 * of else "part"
    return result, f"{whole} of {of}" if of else "-"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--job")
    parser.add_argument("--folder")
    arguments = parser.parse_args()
    if arguments.job:
        return job(arguments.job, arguments.folder)
    with tempfile.TemporaryDirectory() as folder:
        draw(folder)
        print("| pipeline | made by Go | pictures whole | equal | CPU, fed over alone | rounds |\n|---|---|---|---|---|---|", flush=True)
        for title in pipelines():
            if arguments.only not in title:
                continue
            rounds = [(run(title, folder, False), run(title, folder, True)) for _ in range(arguments.rounds)]
            ratios = sorted(fed["cpu"] / alone["cpu"] for alone, fed in rounds)
            equal = all(alone["digest"] == fed["digest"] for alone, fed in rounds)
            result, pictures = judge(rounds[-1][1]["share"])
            spread = f" ({ratios[0]:.2f} to {ratios[-1]:.2f})" if len(ratios) > 1 else ""
            print(f"| {title} | {result} | {pictures} | {'yes' if equal else 'NO'} | {statistics.median(ratios):.2f}{spread} | {len(rounds)} |", flush=True)
    print(f"\nLoad of the machine at the end: {os.getloadavg()[0]:.1f}.")


if __name__ == "__main__":
    main()
