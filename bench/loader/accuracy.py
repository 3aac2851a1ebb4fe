#!/usr/bin/env python3
"""Train a small network through torch's DataLoader and through Stoker's, seed by seed, and compare the accuracies.

    bench/loader/install-peers photos        # brings the digits, once
    python/.venv/bin/python bench/loader/accuracy.py --seeds 10

Real training on the CPU: 1,797 handwritten digits (scikit-learn's digits.csv.gz, from UCI's Optical Recognition of
Handwritten Digits, CC BY 4.0), written as 32x32 JPEG files in an ImageFolder, 1,297 to train on. The only difference
between the two is the class of the loader. Their random streams differ, so accuracies differ as those of two seeds
do: the question is whether the means differ by more. Both are tested by the same plain loader.
"""

import argparse
import gzip
import json
import math
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy
import torch
from PIL import Image
from torch import nn
from torchvision import datasets, transforms

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "python"))
DIGITS = HERE / ".venv/photos/sklearn/datasets/data/digits.csv.gz"
TRAIN = 1297  # of 1,797; the rest is for testing
MEAN, STD = (0.3,) * 3, (0.35,) * 3


def write_digits(root: Path) -> None:
    """One JPEG per digit: root/train/7/0001.jpg."""
    if not DIGITS.exists():
        sys.exit(f"error: no {DIGITS}\nhint: bench/loader/install-peers photos")
    with gzip.open(DIGITS, "rt") as file:
        rows = numpy.loadtxt(file, delimiter=",")
    for number, row in enumerate(rows):
        folder = root / ("train" if number < TRAIN else "test") / str(int(row[64]))
        folder.mkdir(parents=True, exist_ok=True)
        pixels = (row[:64].reshape(8, 8) * (255 / 16)).round().astype(numpy.uint8)
        Image.fromarray(pixels).resize((32, 32), Image.Resampling.BICUBIC).save(folder / f"{number:04}.jpg", quality=95)


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(),
        nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(),
        nn.Flatten(), nn.Linear(32 * 64, 64), nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip


def make_loader(kind: str, folder: Path, seed: int):
    augment = [transforms.RandomResizedCrop(32, scale=(0.5, 1)), transforms.ToTensor(), transforms.Normalize(MEAN, STD)]
    data = datasets.ImageFolder(folder, transforms.Compose(augment))
    if kind == "torch":
        return torch.utils.data.DataLoader(data, batch_size=64, shuffle=True, drop_last=True)
    import stoker

    return stoker.DataLoader(data, batch_size=64, shuffle=True, drop_last=True)


def accuracy(kind: str, root: Path, seed: int, epochs: int, test) -> float:
    torch.manual_seed(seed)
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    loader = make_loader(kind, root / "train", seed)
    for _ in range(epochs):
        for images, labels in loader:
            optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
    if kind == "stoker":
        loader.close()
    images, labels = test
    with torch.no_grad():
        return (model(images).argmax(1) == labels).float().mean().item()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="trainings per loader (default 10)")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--json", type=Path, help="write the accuracies there")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    found = {"torch": [], "stoker": []}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_digits(root)
        plain = transforms.Compose([transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
        test = next(iter(torch.utils.data.DataLoader(datasets.ImageFolder(root / "test", plain), batch_size=10_000)))
        for seed in range(arguments.seeds):
            for kind, accuracies in found.items():
                began = time.monotonic()
                accuracies.append(accuracy(kind, root, seed, arguments.epochs, test))
                print(f"seed {seed}  {kind:6}  {accuracies[-1]:.4f}  {time.monotonic() - began:5.1f} s", file=sys.stderr, flush=True)
    report(found)
    if arguments.json:
        arguments.json.write_text(json.dumps(found))
    return 0


def report(found: dict) -> None:
    for kind, values in found.items():
        print(f"{kind:6}  mean {statistics.mean(values):.4f}  standard deviation between seeds {statistics.stdev(values):.4f}  n = {len(values)}")
    difference = statistics.mean(found["stoker"]) - statistics.mean(found["torch"])
    error = math.sqrt(sum(statistics.variance(values) / len(values) for values in found.values()))
    print(f"difference {difference:+.4f}, 95 % interval {difference - 1.96 * error:+.4f} to {difference + 1.96 * error:+.4f} (normal approximation)")


if __name__ == "__main__":
    sys.exit(main())
