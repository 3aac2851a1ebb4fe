#!/usr/bin/env python3
"""Kills workers, the daemon and the trainer of fed trainings at random moments: every batch must be the script's own until it ends.

    python/.venv/bin/python bench/loader/kills.py --kills 1000

A training is a process forked here that iterates python/tests/deferred_pipelines.py's "reference" with two workers, epoch after epoch, and
tells the digest of each batch. In each epoch one of its processes is killed, at a moment after some batch or before the first. After the
daemon's death all batches of that epoch come, equal to those of the script alone; after a worker's, those before it are equal and torch's
own error ends the epoch; the same training goes on with the next one, with another daemon. After the trainer's death another one begins, and
nothing is left of the first as soon as its workers look for it, which torch has them do every five seconds.
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
PATIENCE = 60  # seconds that processes have to end after the trainer, on a busy machine


def batches(root):
    """Of one epoch, which is always the same."""
    import deferred_pipelines as pipelines

    for batch in pipelines.loader("reference", root, 2, batch_size=2):
        seen = hashlib.sha256()
        pipelines.digest(batch, seen)
        yield seen.hexdigest()[:16]


class Training:
    """A process that tells its batches, line by line, and how each epoch ends."""

    def __init__(self, root):
        self.group = account.Group()
        reading, writing = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(reading)
            _train(root, self.group, os.fdopen(writing, "w", buffering=1))
        os.close(writing)
        self.lines = os.fdopen(reading)

    def members(self):
        """Its living processes by kind."""
        found = collections.defaultdict(list, trainer=[self.pid])
        for pid in map(int, Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()):
            try:
                name, _, rest = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
            except OSError:
                continue
            if rest.split()[0] != "Z":
                found["daemon" if name == "stoker" else "worker"].append(pid)
        return found

    def epoch(self, kind, at, delay, chance):
        """What it tells until an epoch ends, or it itself, and who was killed after so many batches."""
        told, killed = [], "nobody"
        for line in self.lines:
            told += [line.strip()] if line != "begin\n" else []
            if len(told) == at and killed == "nobody":
                time.sleep(delay)
                if victims := self.members()[kind]:
                    os.kill(chance.choice(victims), signal.SIGKILL)
                    killed = kind
            if told and len(told[-1]) != 16:
                break
        return told, killed

    def end(self):
        self.lines.close()
        os.waitpid(self.pid, 0)
        self.deadline = time.monotonic() + PATIENCE

    def left(self):
        """How many of its processes are there still, a fair time after its end; None: that is not over."""
        processes = self.group.processes()
        if processes and time.monotonic() < self.deadline:
            return None
        with self.group:
            return len(processes)


def _train(root, group, out):
    """In the child, until nobody listens."""
    try:
        group.enter()
        os.environ.update(group.environment())
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.register_at_fork(after_in_child=out.close)  # it ends with the trainer
        import stoker

        stoker.feed()
        while True:
            out.write("begin\n")
            out.write(_epoch(root, out) + "\n")
    finally:
        os._exit(0)


def _epoch(root, out):
    """How it ends. Where a worker is gone, torch says so, or that tensors which were under way are."""
    try:
        for digest in batches(root):
            out.write(digest + "\n")
        return "done"
    except BaseException as error:
        own = isinstance(error, (ConnectionError, FileNotFoundError, EOFError)) or "DataLoader worker" in str(error)
        return "worker" if own else f"{type(error).__name__}: {error}".splitlines()[0]


def judged(kind, told, plain):
    """What went wrong in an epoch; "" where nothing did."""
    count = next((i for i, (one, other) in enumerate(zip(told, plain)) if one != other), min(len(told), len(plain)))
    end = told[count:]
    whole, stopped = [*plain, "done"] == told, end == ["worker"]
    fine = {"daemon": whole, "nobody": whole, "worker": whole or stopped, "trainer": not end or whole}[kind]
    return "" if fine else f"{kind}: {count} batches, then {end[:2]}"


def kill(wanted, chance, root, plain):
    """For each epoch who was killed, and what went wrong; at last what is left of trainings that have ended."""
    training, ended, late = Training(root), [], "nobody"
    while wanted:
        kind = chance.choice(KINDS)
        told, killed = training.epoch(kind, chance.randrange(len(plain)), chance.choice((0, chance.uniform(0, 0.05))), chance)
        wanted -= killed != "nobody"
        wrong = judged(killed, told, plain)
        yield killed, wrong and judged(late, told, plain) and wrong
        late = killed if told[-1:] == ["done"] else "nobody"  # it may have hit the epoch that had begun meanwhile
        if killed == "trainer" or not told or not wanted:
            training.end()
            ended.append(training)
            training = Training(root) if wanted else None
        yield from left(ended)
    while ended:
        time.sleep(0.1)
        yield from left(ended)


def left(ended):
    """What went wrong with those trainings that nothing is left of, or that have had their time."""
    for training in [*ended]:
        if (count := training.left()) is not None:
            ended.remove(training)
            if count:
                yield "nobody", f"{count} processes left"


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
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as root:
        pipelines.make_images(root)
        plain = list(batches(root))
        for epoch, (killed, wrong) in enumerate(kill(arguments.kills, random.Random(arguments.seed), root, plain)):
            counts[killed] += 1
            if wrong:
                counts["wrong"] += 1
                print(json.dumps({"epoch": epoch, "wrong": wrong}), flush=True)
            if epoch % 50 == 49:
                print(json.dumps({"epochs": epoch + 1, **counts}), flush=True)
    print(json.dumps({"epochs": epoch + 1, **counts}))


if __name__ == "__main__":
    main()
