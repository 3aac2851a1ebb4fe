#!/usr/bin/env python3
"""What a PNG costs to decode, in milliseconds of a core: the daemon's decoder, Pillow, torchvision and OpenCV in turn, on drawn files.

    python bench/loader/png.py             the table of RESULTS.md
    python bench/loader/png.py --rounds 5

Of each round it takes the lowest of twelve means over six files.
"""

import argparse
import io
import os
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import tensors
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
KINDS = {"colour": "photographs in colour", "grey": "photographs in grey", "deep": "the same in 16 bits", "masks": "masks of 16 values", "crops": "crops of 128 x 128 in colour"}
FILES, PASSES = 6, 12


def draw(folder):
    tensors.COUNT = FILES
    with tempfile.TemporaryDirectory() as drawn:
        tensors.draw(drawn)
        for number, path in enumerate(sorted(Path(drawn).rglob("*.jpg"))):
            with Image.open(path) as image:
                colour, grey = image.convert("RGB"), image.convert("L")
            small = np.random.default_rng(number).integers(0, 16, (6, 8), dtype=np.uint8)
            for kind, made in {
                "colour": colour,
                "grey": grey,
                "deep": Image.fromarray(np.asarray(grey).astype(np.uint16) * 257),
                "masks": Image.fromarray(small).resize(grey.size, Image.Resampling.NEAREST),
                "crops": colour.crop((60, 60, 188, 188)),
            }.items():
                made.save(Path(folder, f"{kind}-{number}.png"))


def others():
    import cv2
    import torch
    from torchvision.io import decode_image

    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    return {
        "Pillow": lambda data: Image.open(io.BytesIO(data)).load(),
        "torchvision": lambda data: decode_image(torch.frombuffer(data, dtype=torch.uint8)),
        "OpenCV": lambda data: cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED),
    }


def least(decode, files):
    times = []
    for _ in range(PASSES):
        begin = time.thread_time()
        for data in files:
            decode(data)
        times.append((time.thread_time() - begin) / len(files) * 1e3)
    return min(times)


def ours(test, folder):
    said = subprocess.run(
        [test, "-test.run", "^$", "-test.bench", "^BenchmarkPNG$", "-test.benchtime", "1x"],
        env={**os.environ, "STOKER_BENCH_PNGS": folder}, cwd=ROOT / "feed/decode", capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return {name: float(value) for value, name in re.findall(r"([\d.]+) ([\w-]+)-ms", said)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    ways = others()
    columns = ["Go", "Go without kernels", *ways]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as built:
        draw(folder)
        test = os.path.join(built, "decode.test")
        subprocess.run(["go", "test", "-c", "-o", test, "./feed/decode"], cwd=ROOT, check=True)
        files = {kind: [bytearray(path.read_bytes()) for path in sorted(Path(folder).glob(f"{kind}-*.png"))] for kind in KINDS}
        found = {kind: {name: [] for name in columns} for kind in KINDS}
        for _ in range(rounds):
            made = ours(test, folder)
            for kind, times in found.items():
                times["Go"].append(made[kind])
                times["Go without kernels"].append(made[f"{kind}-plain"])
                for name, decode in ways.items():
                    times[name].append(least(decode, files[kind]))
        print(f"| six PNGs of each kind, ms of a core a picture | bytes a pixel | {' | '.join(columns)} |\n|{'---|' * (2 + len(columns))}")
        for kind, title in KINDS.items():
            width, height = Image.open(io.BytesIO(files[kind][0])).size
            size = statistics.mean(map(len, files[kind])) / width / height
            print(f"| {title} | {size:.2f} | {' | '.join(f'{statistics.median(v):.2f} ({min(v):.2f} to {max(v):.2f})' for v in found[kind].values())} |")
        print(f"\n{rounds} rounds; load {os.getloadavg()[0]:.0f}.")


if __name__ == "__main__":
    main()
