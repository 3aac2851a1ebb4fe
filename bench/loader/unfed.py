#!/usr/bin/env python3
"""Measures the cost of `stoker feed --` for a script that it cannot feed: processor time of all its processes, alone and fed in turn.

    make build
    python/.venv/bin/python bench/loader/unfed.py --rounds 5                # the table, as Markdown
    python/.venv/bin/python bench/loader/unfed.py --only text --rounds 9

text: lines are tokenized by a table. arrays: the data set's NumPy arrays, cropped and normalised. 3D: volumes, cut
and turned. opencv: JPEGs that OpenCV reads (if it is installed). pixels: JPEGs that Pillow opens, of which all is drawn
on at once. Each has two workers, which are forked in each epoch, and checks its batches: a run whose sum
differs from the others' ends the bench. Wall time is not shown: it says nothing on a loaded machine. A ratio of two runs is as
exact as their length is steady, so the cost that comes once in a job is measured separately: in short runs of two batches a worker,
of which more are made in turn, and without what they take to import the libraries.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import account

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.path.join(ROOT, "bin", "stoker")
BATCH, EPOCHS = 16, 4
SHORT = 64  # items of a short run, in one epoch
ITEMS = {"text": 6000, "arrays": 3000, "3D": 160, "opencv": 1200, "pixels": 1200}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=list(ITEMS), choices=list(ITEMS))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--short", type=int, default=15, help="short runs each way (default 15)")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--items", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        return run(options.run, options.items)
    print(f"{options.rounds} rounds in turn, load average {os.getloadavg()[0]:.1f} at the beginning\n")
    print("| pipeline | items | CPU-ms an item, alone | fed | fed / alone, median of rounds (lowest-highest) | CPU-ms once (quartiles) | said |")
    print("|---|---|---|---|---|---|---|")
    for name in options.only:
        compare(name, options)
    print(f"\nload average {os.getloadavg()[0]:.1f} at the end")
    return 0


def compare(name, options):
    """A row."""
    command = [options.python, os.path.abspath(__file__), "--run", name]
    with tempfile.TemporaryDirectory() as folder:
        cost, said = in_turn(command, options.rounds, folder)
        short, _ = in_turn([*command, "--items", str(SHORT)], options.short, folder)
    items = ITEMS[name] * EPOCHS
    ratios = [fed / alone for fed, alone in zip(cost["fed"], cost["alone"])]
    each = [f"{1000 * statistics.median(cost[way]) / items:.3f}" for way in ("alone", "fed")]
    low, once_ms, high = statistics.quantiles([1000 * (fed - alone) for fed, alone in zip(short["fed"], short["alone"])], n=4)
    print(
        f"| {name} | {items} | {each[0]} | {each[1]} | {statistics.median(ratios):.3f} ({min(ratios):.3f}-{max(ratios):.3f}) |"
        f" {once_ms:.0f} ({low:.0f} to {high:.0f}) | {said} |",
        flush=True,
    )


def in_turn(command, rounds, folder):
    """CPU seconds of both ways, each first in every other round, and what feeding said."""
    cost, sums, said = {"alone": [], "fed": []}, set(), ""
    for number in range(rounds + 1):  # the first warms up: compiled modules, the check at start-up
        for way in ("alone", "fed") if number % 2 else ("fed", "alone"):
            seconds, out, err = once([] if way == "alone" else [BINARY, "feed", "--"], command, folder)
            sums.add(out)
            if number:
                imports = float(re.search(r"^imported after (.+)$", err, re.MULTILINE)[1])
                cost[way].append(seconds - imports if "--items" in command else seconds)
            if way == "fed":
                said = "; ".join(line.removeprefix("stoker: feed: ")[:60] for line in err.splitlines() if line.startswith("stoker"))
    if len(sums) != 1:
        raise SystemExit(f"{command[-1]}: runs differ: {sums}")
    return cost, said


def once(before, command, cache):
    """Processor seconds of all processes of a run, and its output."""
    with account.Group() as group:
        os.environ.update(group.environment())
        settings = os.environ | {"XDG_CACHE_HOME": cache, "PYTHONPYCACHEPREFIX": os.environ.get("PYTHONPYCACHEPREFIX") or os.path.join(cache, "pyc")}
        settings.pop("PYTHONDONTWRITEBYTECODE", None)
        done = subprocess.run([*before, *command], env=settings, capture_output=True, text=True, preexec_fn=group.enter)
        group.left_behind()
        if done.returncode:
            raise SystemExit(done.stderr)
        return account.cpu_seconds(), done.stdout, done.stderr


# Pipelines, as a script of one's own has them.


def run(name, items):
    import numpy
    import torch

    torch.set_num_threads(1)
    imported = time.process_time()
    data, loader = PIPELINES[name](), torch.utils.data.DataLoader
    total, epochs = 0.0, EPOCHS
    if items:
        data.count, epochs = items, 1
    for _ in range(epochs):
        for batch in loader(data, BATCH, num_workers=2):
            total += float(batch.double().sum())
    print(f"{total:.6f}", numpy.__name__)
    print(f"imported after {imported}", file=sys.stderr)
    return 0


class Items:
    def __init__(self, name):
        self.count = ITEMS[name]

    def __len__(self):
        return self.count


class Text(Items):
    def __init__(self):
        super().__init__("text")
        self.words = {f"word{number}": number for number in range(5000)}

    def __getitem__(self, index):
        import torch

        line = " ".join(f"word{(index * 31 + at * at) % 6000}" for at in range(400))
        return torch.tensor([self.words.get(word, 0) for word in line.split()])


class Arrays(Items):
    def __init__(self):
        super().__init__("arrays")
        import numpy as np

        self.all = np.random.default_rng(1).integers(0, 256, (64, 160, 160, 3), dtype=np.uint8)

    def __getitem__(self, index):
        import numpy as np
        import torch

        array = self.all[index % 64, index % 32 : index % 32 + 128, index % 16 : index % 16 + 128]
        array = array[:, ::-1] if index % 2 else array
        values = (array.astype(np.float32) / 255 - 0.45) / 0.225
        return torch.from_numpy(np.ascontiguousarray(values.transpose(2, 0, 1)))


class Volumes(Items):
    def __init__(self):
        super().__init__("3D")
        import numpy as np

        self.all = np.random.default_rng(2).standard_normal((4, 96, 96, 96), dtype=np.float32)

    def __getitem__(self, index):
        import numpy as np
        import torch

        at = index % 32
        part = np.rot90(self.all[index % 4, at : at + 64, 5:69, at : at + 64], index % 4, (0, 1))
        return torch.from_numpy(np.ascontiguousarray((part - part.mean()) / part.std()))[None]


class Files(Items):
    """Pictures, written once into the folder of the cache."""

    def __init__(self, name):
        super().__init__(name)
        import random

        from PIL import Image

        self.folder = os.path.join(os.environ["XDG_CACHE_HOME"], "pictures")
        if not os.path.isdir(self.folder):
            chance = random.Random(3)
            os.makedirs(self.folder)
            for number in range(32):
                small = Image.frombytes("RGB", (40, 30), chance.randbytes(3600))
                small.resize((400, 300), Image.Resampling.BICUBIC).save(self.path(number), quality=90)

    def path(self, index):
        return os.path.join(self.folder, f"{index % 32:02}.jpg")


class OpenCV(Files):
    def __init__(self):
        super().__init__("opencv")
        import cv2

        cv2.setNumThreads(0)

    def __getitem__(self, index):
        import cv2
        import torch

        image = cv2.cvtColor(cv2.imread(self.path(index)), cv2.COLOR_BGR2RGB)
        return torch.from_numpy(cv2.resize(image, (128, 128)).transpose(2, 0, 1).copy())


class Pixels(Files):
    def __init__(self):
        super().__init__("pixels")

    def __getitem__(self, index):
        import torch
        from PIL import Image, ImageDraw

        with Image.open(self.path(index)) as file:
            image = file.convert("RGB")
        ImageDraw.Draw(image).rectangle((20, 20, 60, 60 + index % 32), fill=(index % 256, 0, 0))
        return torch.frombuffer(bytearray(image.resize((96, 96)).tobytes()), dtype=torch.uint8)


PIPELINES = {"text": Text, "arrays": Arrays, "3D": Volumes, "opencv": OpenCV, "pixels": Pixels}


if __name__ == "__main__":
    sys.exit(main())
