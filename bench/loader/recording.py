#!/usr/bin/env python3
"""What recording costs a worker, in microseconds of processor time a picture.

    python/.venv/bin/python bench/loader/recording.py            # the median of 200 batches
    python/.venv/bin/python bench/loader/recording.py --profile  # and where the time goes

Two processes on one core fetch the same batches of an ImageFolder in turn. 'fed' fetches as a fed worker does, with a
line that makes nothing. 'own' is the same script with pictures that have no pixels: the file is opened, its header and
bytes are read, parameters are drawn, and all of Pillow's and torchvision's Python runs, up to to_tensor and normalize,
which do nothing. The difference of the two is our cost; it is below zero where fed batches are spared more of
that Python than we add.
"""

import argparse
import cProfile
import multiprocessing
import os
import pstats
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "python"))

import torch
from PIL import Image, ImageFile
from torchvision import transforms
from torchvision.datasets import ImageFolder
from torchvision.datasets.folder import default_loader
from torchvision.transforms import functional

from stoker.deferred import deferring, payoff
from stoker.deferred.materialize import dispatch, line
from stoker.deferred.recipes import pictures as _pictures, replacements
from stoker.deferred.torch import tensors
from stoker.deferred.torchvision import compose, draws, opening
from stoker.deferred.recipes.pictures import Recording, Tally

BATCH = 64
TAIL = [transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
TRAINING = [transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), *TAIL]
EVALUATION = [transforms.Resize(256), transforms.CenterCrop(224), *TAIL]
CHAINS = {  # with what opens a file
    "training": (TRAINING, default_loader),
    "evaluation": (EVALUATION, default_loader),
    "evaluation, opened by Pillow": (EVALUATION, lambda path: Image.open(path).convert("RGB")),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        pictures(folder)
        print(f"{options.batches} batches of {BATCH} in turn, load average {os.getloadavg()[0]:.1f}; microseconds a picture\n")
        print("| chain | fed, median (lowest) | own, median (lowest) | ours, difference of medians (of the lowest) |")
        print("|---|---|---|---|")
        for name in CHAINS:
            compare(name, folder, options.batches)
        if options.profile:
            feed()
            for name in CHAINS:
                data = data_set(name, folder)
                profile = cProfile.Profile()
                profile.runcall(lambda data=data: [batch(data) for _ in range(10)])
                pstats.Stats(profile).sort_stats("tottime").print_stats(40)


def compare(name, folder, count):
    """A row."""
    workers = [Worker(prepare, fetch, name, folder) for prepare, fetch in ((feed, batch), (empty, alone))]
    costs = [[], []]
    for number in range(count + 5):
        for worker, found in zip(workers, costs):
            cost = worker.fetch()
            if number >= 5:
                found.append(cost)
    for worker in workers:
        worker.end()
    (fed, fed_least), (own, own_least) = ((statistics.median(found), min(found)) for found in costs)
    print(f"| {name} | {fed:.1f} ({fed_least:.1f}) | {own:.1f} ({own_least:.1f}) | {fed - own:.1f} ({fed_least - own_least:.1f}) |", flush=True)


class Worker:
    """A process that fetches a batch when it is asked to."""

    def __init__(self, prepare, fetch, name, folder):
        context = multiprocessing.get_context("fork")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, prepare, fetch, name, folder), daemon=True)
        self.process.start()

    def fetch(self):
        self.pipe.send(True)
        return self.pipe.recv()

    def end(self):
        self.pipe.send(False)
        self.process.join()


def serve(pipe, prepare, fetch, name, folder):
    prepare()
    data = data_set(name, folder)
    while pipe.recv():
        begin = time.process_time_ns()
        fetch(data)
        pipe.send((time.process_time_ns() - begin) / 1000 / BATCH)


def data_set(name, folder):
    chain, loader = CHAINS[name]
    return ImageFolder(folder, transforms.Compose(chain), loader=loader)


# Fed.


class Idle(line.Line):
    """Writes the requests, and no daemon answers them."""

    def __init__(self):
        super().__init__(None, 1.0)

    def is_alive(self):
        return True

    def try_connect(self):
        return True

    def _send(self, packet, descriptors):
        pass

    def _receive(self, waiting):
        waiting.clear()
        return []


def feed():
    dispatch.materializer.line, deferring._checked = Idle(), True
    _pictures.install()
    with replacements.replacing():  # some look at the stand-ins of others
        draws.install(True)
        tensors.install(sys.modules)
        compose.install(True)
        opening.install(True)


TALLY = Tally(payoff.Account(None))


def batch(data):
    return deferring._run_deferred(lambda: alone(data), Recording(TALLY))


# The script's own part.


def alone(data):
    return torch.utils.data.default_collate([data[index] for index in range(BATCH)])


class Blank:
    """A core image without pixels."""

    readonly = 0

    def __init__(self, mode, size):
        self.mode, self.size = mode, size

    def pixel_access(self, readonly):
        return None

    def copy(self):
        return Blank(self.mode, self.size)

    def crop(self, box):
        return Blank(self.mode, (box[2] - box[0], box[3] - box[1]))

    def resize(self, size, resample, box):
        return Blank(self.mode, size)

    def transpose(self, method):
        return Blank(self.mode, self.size)


def empty():
    room, ready = bytearray(1 << 20), torch.zeros(3, 1, 1)

    def load(self):
        if self.tile:
            self.fp.seek(0)
            self.fp.readinto(room)
            self._im, self.tile, self.fp = Blank(self.mode, self.size), [], None
        return Image.Image.load(self)

    ImageFile.ImageFile.load = load
    functional.to_tensor = lambda picture: ready
    functional.normalize = lambda tensor, mean, std, inplace=False: tensor


def pictures(folder):
    os.mkdir(os.path.join(folder, "a"))
    for number in range(BATCH):
        noise = Image.effect_noise((50, 40), 90).convert("RGB").resize((500, 375))
        noise.save(os.path.join(folder, "a", f"{number:03}.jpg"), quality=97)


if __name__ == "__main__":
    main()
