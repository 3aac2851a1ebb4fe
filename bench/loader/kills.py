#!/usr/bin/env python3
"""Kills workers, the daemon and the trainer of fed trainings at random moments: every batch must be the script's own until it ends.

    python/.venv/bin/python bench/loader/kills.py --kills 1000

Each training is a process forked here that iterates python/tests/deferred_pipelines.py's "reference" twice with two workers and tells the
digest of each batch. One of its processes is killed after some batch. Then: after the daemon's death all batches come, equal to those of the
script alone; after a worker's, those before it are equal and torch's own error ends the training; after the trainer's, nothing of it is left.
"""

import argparse
import collections
import hashlib
import json
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path

import account

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python/tests")]
KINDS = ("worker", "daemon", "trainer")


def batches(root):
    import deferred_pipelines as pipelines

    loader = pipelines.loader("reference", root, 2)
    for _ in range(2):
        for batch in loader:
            seen = hashlib.sha256()
            pipelines.digest(batch, seen)
            yield seen.hexdigest()[:16]


def training(root, group, out):
    """In a child: tells its batches, and how it ends."""
    group.enter()
    os.environ.update(group.environment())
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    import stoker

    stoker.feed()
    try:
        for digest in batches(root):
            out.write(digest + "\n")
            out.flush()
        out.write("done\n")
    except BaseException as error:  # how torch ends an iteration whose worker is gone; its tensors may have been under way
        own = isinstance(error, (ConnectionError, FileNotFoundError, EOFError)) or "DataLoader worker" in str(error)
        out.write("worker\n" if own else f"{type(error).__name__}: {error}".splitlines()[0] + "\n")
    finally:
        out.flush()
        os._exit(0)


def members(trainer):
    """The trainer's processes by kind."""
    found = collections.defaultdict(list, trainer=[trainer])
    for pid in map(int, Path(f"/proc/{trainer}/task/{trainer}/children").read_text().split()):
        try:
            name = Path(f"/proc/{pid}/comm").read_text().strip()
        except OSError:
            continue
        found["daemon" if name == "stoker" else "worker"].append(pid)
    return found


def experiment(kind, chance, root, plain):
    """What went wrong; "" where nothing did."""
    at, delay = chance.randrange(len(plain) - 1), chance.choice((0, chance.uniform(0, 0.05)))
    with account.Group() as group:
        reading, writing = os.pipe()
        trainer = os.fork()
        if not trainer:
            os.close(reading)
            training(root, group, os.fdopen(writing, "w"))
        os.close(writing)
        told, killed = [], False
        with os.fdopen(reading) as lines:
            for line in lines:
                told.append(line.strip())
                if len(told) == at + 1:
                    time.sleep(delay)
                    victims = members(trainer)[kind]
                    if victims:
                        os.kill(chance.choice(victims), signal.SIGKILL)
                        killed = True
        os.waitpid(trainer, 0)
        left = group.left_behind()
    return judged(kind if killed else "nobody", told, plain, left)


def judged(kind, told, plain, left):
    count = next((i for i, (one, other) in enumerate(zip(told, plain)) if one != other), min(len(told), len(plain)))
    end = told[count:]
    whole, stopped = [*plain, "done"] == told, end == ["worker"]
    fine = {"daemon": whole, "nobody": whole, "worker": whole or stopped, "trainer": not end or whole}[kind]
    return "" if fine and not left else f"{kind}: {count} batches, then {end[:2]}, {left} processes left"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    os.environ["STOKER_BIN"] = str(ROOT / "bin/stoker")
    warnings.simplefilter("ignore")
    import deferred_pipelines as pipelines
    import torch

    torch.set_num_threads(1)
    chance, counts = random.Random(arguments.seed), collections.Counter()
    with tempfile.TemporaryDirectory() as root:
        pipelines.make_images(root)
        plain = list(batches(root))
        for number in range(arguments.kills):
            kind = KINDS[number % len(KINDS)]
            counts[kind] += 1
            if wrong := experiment(kind, chance, root, plain):
                counts["wrong"] += 1
                print(json.dumps({"kill": number, "wrong": wrong}), flush=True)
            if number % 10 == 9:
                print(json.dumps({"kills": number + 1, **counts}), flush=True)
    print(json.dumps({"kills": arguments.kills, **counts}))


if __name__ == "__main__":
    main()
