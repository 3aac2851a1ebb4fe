#!/usr/bin/env python3
"""Instructions per image on arm64, Stoker's, Pillow's and torchvision's, under qemu: bench/cpus/instructions.py FOLDER

    bench/cpus/root.py --torch                          # once: arm64's Python with Pillow, PyTorch and torchvision
    bench/cpus/instructions.py data/reference           # a table; n is the number of JPEGs in FOLDER

A plugin of qemu counts what a program executes (count.c), the parts are the same on both sides
(counted/main.go, counted/theirs.py), and the second of two rounds counts. Boxes of RandomResizedCrop are drawn by
each side for itself, from the same distribution.

No time comes of it: qemu knows neither caches nor how many instructions a core does at once.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILT = ROOT / "bin/cpus"
PARTS = ("decode to RGB", "RandomResizedCrop 224, flip, normalise, float32", "Resize 256, CenterCrop 224, normalise, float32",
         "brightness of 256 x 256", "contrast", "Color", "affine bicubic")


def count(command, images, environment=None):
    """Millions of instructions per image of each part, as the program marks them."""
    done = subprocess.run([str(word) for word in command], env={**os.environ, **(environment or {})}, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{command[0]}: ended with {done.returncode}\n{done.stderr}")
    marks = [int(n) for n in re.findall(r"^counted (\d+)$", done.stderr, re.MULTILINE)]
    marks = marks[len(marks) // 2 :]  # of the second round
    return [(end - begin) / images / 1e6 for begin, end in zip(marks, marks[1:])]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    images = len(list(options.folder.rglob("*.jpg")))
    python = BUILT / "root/python"
    if not images:
        sys.exit(f"instructions.py: there is no JPEG in {options.folder}")
    if not python.exists():
        sys.exit(f"instructions.py: {python} is missing: run bench/cpus/root.py --torch")
    plugin, program = BUILT / "count.so", BUILT / "arm64/counted"
    program.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cc", "-O2", "-Wall", "-fPIC", "-shared", "-o", plugin, HERE / "count.c"], check=True)
    subprocess.run(
        ["go", "build", "-o", program, "./bench/cpus/counted"], check=True, cwd=ROOT,
        env={**os.environ, "GOOS": "linux", "GOARCH": "arm64", "CGO_ENABLED": "0"},
    )  # fmt: skip
    ours = count(["qemu-aarch64", "-cpu", "max", "-plugin", plugin, program, options.folder], images)
    theirs = count([python, HERE / "counted/theirs.py", options.folder], images, {"QEMU_OPTIONS": f"-plugin {plugin}"})
    print(f"| millions of instructions per image, n = {images} | Stoker | Pillow and torchvision | |\n|---|---|---|---|")
    for part, mine, other in zip(PARTS, ours, theirs):
        print(f"| {part} | {mine:.2f} | {other:.2f} | {mine / other:.2f} |")


if __name__ == "__main__":
    main()
