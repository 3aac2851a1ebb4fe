#!/usr/bin/env python3
"""What recording costs a worker, in microseconds of processor time a picture: a batch is fetched as in a fed worker, with a
line that makes nothing, so that what is left is Python's: opening the file, its header, the draws, and what is recorded.

    python/.venv/bin/python bench/loader/recording.py               # the median of 60 batches
    python/.venv/bin/python bench/loader/recording.py --profile     # and where the time goes

'floor' is the same without the part that is ours: the file is opened and read, its parameters are drawn, and no more.
"""

import argparse
import cProfile
import os
import pstats
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "python"))

import torch
from PIL import Image
from torchvision import transforms
from torchvision.datasets import ImageFolder

from stoker import _defer, _judged, _line, _making, _pictures, _tensors
from stoker._pictures import Recording, Tally

BATCH = 64
TAIL = [transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
CHAINS = {
    "training": [transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), *TAIL],
    "evaluation": [transforms.Resize(256), transforms.CenterCrop(224), *TAIL],
}


class Idle(_line.Line):
    """Writes what it would send, and has all made by nobody."""

    def __init__(self):
        super().__init__(None, 1.0)

    def alive(self):
        return True

    def ready(self):
        return True

    def _send(self, packet, descriptors):
        pass

    def _receive(self, waiting):
        waiting.clear()
        return []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=60)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        pictures(folder)
        floor = measured(lambda: [drawn(path) for path in paths(folder)], options.batches)
        print(f"load average {os.getloadavg()[0]:.1f}; median of {options.batches} batches of {BATCH} (lowest), microseconds a picture")
        print(f"floor {floor}")
        _making.maker.line, _defer._checked = Idle(), True
        _pictures.install()
        _tensors.install(sys.modules)
        for name, chain in CHAINS.items():
            data = ImageFolder(folder, transforms.Compose(chain))
            print(f"{name} {measured(lambda data=data: batch(data), options.batches)}", flush=True)
            if options.profile:
                profile = cProfile.Profile()
                profile.runcall(lambda data=data: [batch(data) for _ in range(10)])
                pstats.Stats(profile).sort_stats("tottime").print_stats(28)


def measured(fetch, count):
    for _ in range(5):
        fetch()
    costs = []
    for _ in range(count):
        begin = time.process_time_ns()
        fetch()
        costs.append((time.process_time_ns() - begin) / 1000 / BATCH)
    return f"{statistics.median(costs):.1f} ({min(costs):.1f})"


def batch(data):
    tally = Tally(_judged.Account(None))
    return _defer._deferred(lambda: torch.utils.data.default_collate([data[index] for index in range(BATCH)]), Recording(True, tally))


def drawn(path):
    with open(path, "rb") as file:
        image = Image.open(file)
        file.seek(0)
        file.read()
        return transforms.RandomResizedCrop.get_params(image, (0.08, 1), (0.75, 1.33)), torch.rand(1) < 0.5


def paths(folder):
    return [os.path.join(folder, "a", name) for name in sorted(os.listdir(os.path.join(folder, "a")))]


def pictures(folder):
    os.mkdir(os.path.join(folder, "a"))
    for number in range(BATCH):
        noise = Image.effect_noise((50, 40), 90).convert("RGB").resize((500, 375))
        noise.save(os.path.join(folder, "a", f"{number:03}.jpg"), quality=97)


if __name__ == "__main__":
    main()
