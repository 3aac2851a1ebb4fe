#!/usr/bin/env python3
"""Loops in which wrong advice would change the training data or promise an impossible gain, on an emulated device.

    python data.py unsplit --seconds 15

testdata/cases has recordings of them:

    STOKER_EMULATE=1 bin/stoker observe -o run.jsonl.gz -- python bench/labelled/data.py unsplit
"""

import argparse
import time
import warnings
import zlib
from collections.abc import Callable, Iterator

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

from stoker.emulated import Device

warnings.filterwarnings("ignore", ".*suggested max number of worker.*")
UNTIL = 0.0


def goes_on() -> bool:
    return time.monotonic() < UNTIL


class Lines(IterableDataset):
    """Reads the whole file in every worker."""

    def __init__(self, lines: int) -> None:
        self.lines = lines

    def __iter__(self) -> Iterator[torch.Tensor]:
        for line in range(self.lines):
            time.sleep(0.003)
            yield torch.tensor([float(line)])


class Shards(IterableDataset):
    """Gives each worker its shards."""

    def __init__(self, shards: int) -> None:
        self.shards = shards

    def __iter__(self) -> Iterator[torch.Tensor]:
        info = get_worker_info()
        for _ in range(self.shards)[info.id :: info.num_workers]:
            for _ in range(10**6):
                time.sleep(0.005)
                yield torch.zeros(64)


class Rows(Dataset):
    """Samples that sleep."""

    def __init__(self, rows: int, seconds: float) -> None:
        self.rows, self.seconds = rows, seconds

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, row: int) -> torch.Tensor:
        time.sleep(self.seconds)
        return torch.zeros(64)


def train(device: Device, batch: torch.Tensor, seconds: float) -> None:
    device.copy(batch.nbytes)
    device.launch(seconds, "step")
    device.item()


def epochs(loader: DataLoader, seconds: float) -> None:
    device = Device()
    while goes_on():
        for batch in loader:
            train(device, batch, seconds)
            if not goes_on():
                break


def unsplit(workers: int) -> None:
    """An IterableDataset that ignores worker ids: each further worker repeats every sample."""
    epochs(DataLoader(Lines(2400), 8, num_workers=workers), 0.010)


def shards(workers: int) -> None:
    """One shard for four workers: three of them have nothing to read."""
    epochs(DataLoader(Shards(1), 8, num_workers=workers), 0.012)


def resume(workers: int, skipped: int = 400) -> None:
    """A loop that skips the batches before its checkpoint. After that, the device is the limit."""
    device = Device()
    for number, batch in enumerate(DataLoader(Rows(10**6, 0.002), 8, num_workers=workers, pin_memory=True)):
        if number >= skipped:
            device.copy(batch.nbytes, pinned=True)
            device.launch(0.030, "step")
        if not goes_on():
            break
    device.synchronize(spin=False)


def resuming(workers: int) -> None:
    """The same, ended before it reaches that place."""
    resume(workers, 10**6)


def turns(_workers: int) -> None:
    """Work of the host alternating with that of the device: 80 ms and 30 ms."""
    device, text = Device(), bytes(range(256)) * 400
    while goes_on():
        until = time.thread_time() + 0.080
        while time.thread_time() < until:
            zlib.compress(text, 1)
        device.launch(0.030, "answer")
        device.item()


def connect(_worker: int) -> None:
    time.sleep(0.4)


def starts(workers: int) -> None:
    """Workers that take 0.4 s to start, in each epoch of 20 steps."""
    epochs(DataLoader(Rows(160, 0.001), 8, num_workers=workers, worker_init_fn=connect), 0.015)


KINDS: dict[str, tuple[Callable[[int], None], int]] = {
    "unsplit": (unsplit, 0),
    "repeated": (unsplit, 4),
    "one-shard": (shards, 4),
    "resumed": (resume, 1),
    "resuming": (resuming, 1),
    "turns": (turns, 0),
    "starts": (starts, 2),
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("--seconds", type=float, default=15)
    asked = parser.parse_args()
    UNTIL = time.monotonic() + asked.seconds
    run, processes = KINDS[asked.kind]
    run(processes)
