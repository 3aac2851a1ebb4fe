#!/usr/bin/env python3
"""Measures the cost of handing a batch from a DataLoader worker to the trainer, in core seconds per byte.

    python/.venv/bin/python bench/handover.py

A loader worker puts its batch into new shared memory, whose pages fault in the
worker and again in the trainer. Without workers the batch is not moved. The cost
is the core time per batch of the whole process tree with one worker, minus that
without workers. Both run in turn, with workers started by fork.

There are two kinds of trainer: one that never reads the batch (an emulated
device), and one that reads each byte once, as a copy to a device does. A real run
is close to the second. `handOver` in predict/law.go has this figure.
"""

import argparse
import gc
import json
import os
import statistics
import time

import torch
from torch.utils.data import DataLoader, Dataset

#: Images per batch; an image is 3x224x224 float32, 602,112 bytes.
BATCHES = (64, 16, 4)
#: Batches before the clock starts: the queue fills, the heap takes its size.
WARM_UP = 6


class Ready(Dataset):
    """Images that cost nothing to make, so that only collating and the handover are measured."""

    def __init__(self, count: int) -> None:
        # Distinct tensors, as from a decoder: a single tensor would stay in the cache.
        self.images = [torch.randn(3, 224, 224) for _ in range(64)]
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.images[index % len(self.images)]


def core_seconds() -> float:
    """Return the core time so far of this process and its living children."""
    pids = [os.getpid(), *_children(os.getpid())]
    return sum(_process_core_ns(pid) for pid in pids) / 1e9


def _children(pid: int) -> list[int]:
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children") as file:
            found += [int(child) for child in file.read().split()]
    return found


def _process_core_ns(pid: int) -> int:
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        # Nanoseconds; /proc/PID/stat counts in hundredths of a second.
        with open(f"/proc/{pid}/task/{task}/schedstat") as file:
            total += int(file.read().split()[0])
    return total


def core_seconds_per_batch(workers: int, images: int, batches: int, reads: bool) -> float:
    """Return the core time per batch of the process tree, once the loader runs steadily."""
    data = Ready((WARM_UP + batches + 2 * (workers + 1)) * images)
    loader = DataLoader(data, batch_size=images, num_workers=workers, multiprocessing_context="fork" if workers else None)
    batch_iter = iter(loader)
    for _ in range(WARM_UP):
        _consume(next(batch_iter), reads)
    gc.disable()  # a collection in one half and not in the other would be noise
    start = core_seconds()
    for _ in range(batches):
        _consume(next(batch_iter), reads)
    spent = core_seconds() - start
    gc.enable()
    del batch_iter  # ends the workers
    return spent / batches


def _consume(batch: torch.Tensor, reads: bool) -> None:
    if reads:
        batch.view(torch.int32).max()  # one pass over all bytes


def measure(images: int, reads: bool, rounds: int, seconds: float) -> dict[str, object]:
    """Measure one batch size: workers 0 and 1 in turn, `rounds` times each."""
    nbytes = images * 3 * 224 * 224 * 4
    # About `seconds` per half at 2 GB/s, which a core reaches or nearly so.
    batches = max(20, round(seconds * 2e9 / nbytes))
    pairs = []
    for _ in range(rounds):
        alone = core_seconds_per_batch(0, images, batches, reads)
        handed = core_seconds_per_batch(1, images, batches, reads)
        pairs.append((alone, handed))
    extra = sorted((handed - alone) / nbytes for alone, handed in pairs)
    return {
        "images": images,
        "bytes": nbytes,
        "reads": reads,
        "rounds": rounds,
        "batches": batches,
        "workers_0_s": statistics.median(alone for alone, _ in pairs),
        "workers_1_s": statistics.median(handed for _, handed in pairs),
        "hand_over_s_per_byte": {"low": extra[0], "median": statistics.median(extra), "high": extra[-1]},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="pairs of runs per row (default 7)")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a run, roughly (default 1)")
    parser.add_argument("--threads", type=int, default=1, help="torch threads in the trainer (default 1: no spinning pool in the figures)")
    parser.add_argument("--json", metavar="FILE", help="write the rows to FILE as well")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)

    started, rows = time.monotonic(), []
    print("  batch       MB  trainer  core ms, 0 workers  1 worker   hand-over, ns/byte: median (least .. most)")
    for images in BATCHES:
        for reads in (False, True):
            row = measure(images, reads, arguments.rounds, arguments.seconds)
            rows.append(row)
            over = row["hand_over_s_per_byte"]
            print(
                f"{images:7} {row['bytes'] / 1e6:8.1f}  {'reads' if reads else 'ignores':7}"
                f" {row['workers_0_s'] * 1e3:19.2f} {row['workers_1_s'] * 1e3:9.2f}"
                f"   {over['median'] * 1e9:.3f} ({over['low'] * 1e9:.3f} .. {over['high'] * 1e9:.3f})",
                flush=True,
            )
    load = os.getloadavg()[0]
    print(f"n = {arguments.rounds} pairs per row, torch {torch.__version__}, {os.cpu_count()} cores,"
          f" {time.monotonic() - started:.0f} s, load average at the end {load:.1f}")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"torch": torch.__version__, "cores": os.cpu_count(), "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
