#!/usr/bin/env python3
"""Holds forecasts of `stoker trace --what-if` against what a change really brings.

    go build -o stoker ./cmd/stoker
    nice python/.venv/bin/python bench/replay/pairs.py              the table of bench/replay/RESULTS.md
    python/.venv/bin/python bench/replay/pairs.py workers pinned    these

Each pair is one loop, recorded by torch.profiler with the rows of the emulated
device before a change and after it, turn about, `--repeat` times each. Of either
side the least disturbed recording counts, the one with the shortest step: a
neighbour can only make a step longer. The forecast knows the trace of "before"
alone. A step is the judged steps' as `stoker trace` says it, and their mean where
steps differ by design (a loss read every tenth step).

Loaders and the host's own work sleep rather than compute, so that two cores are
enough and neighbours do little harm; what that leaves out is said in
bench/replay/RESULTS.md.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule
from torch.utils.data import DataLoader, Dataset

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/trace"))
from record import HOST, MS, Job, machine  # noqa: E402

Loop = Callable[..., Iterator[None]]


class Sleeping(Dataset):
    """Samples that take a time each and no core: a remote disk."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __len__(self) -> int:
        return 10_000

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(self.seconds)
        return torch.zeros(8, 8)


def batches(load: float, workers: int) -> Iterator[torch.Tensor]:
    """Batches of four samples that take `load` milliseconds together."""
    return iter(DataLoader(Sleeping(load * MS / 4), batch_size=4, num_workers=workers))


def train(
    job: Job,
    load: float = 0,
    workers: int = 0,
    megabytes: float = 0,
    pinned: bool = False,
    host: float = 0,
    kernels: int = 3,
    kernel: float = 4,
    read_every: int = 0,
    wait: bool = False,
) -> Iterator[None]:
    """A step: a batch, its copy, host work, kernels, and a look at the loss. Times in milliseconds."""
    loader = batches(load, workers) if load else None
    step = 0
    while True:
        step += 1
        if loader:
            next(loader)
        if megabytes:
            job.copy(int(megabytes * 1e6), pinned=pinned)
        time.sleep(host * MS)
        job.matmuls(kernels, kernel)
        if read_every and step % read_every == 0:
            job.read_loss()
        if wait:
            job.device.synchronize()
        yield


def launches(job: Job, count: int = 150, grouped: bool = False, kernel: float = 0.002) -> Iterator[None]:
    """Many small kernels, each with an operator's work on the host; or all of them with one launch."""
    while True:
        if grouped:
            job.matmuls(1, count * kernel)
        else:
            for _ in range(count):
                job.matmuls(1, kernel)
                torch.relu(HOST)
        yield


def small(job: Job, copies: int = 60, merged: bool = False) -> Iterator[None]:
    """Small tensors one by one, or in one copy."""
    while True:
        for _ in range(1 if merged else copies):
            job.copy(4096 * (copies if merged else 1))
        job.matmuls(2, 0.2)
        yield


def optimizer(job: Job, every: int = 1) -> Iterator[None]:
    """A forward and backward pass, and every so many steps an optimizer of many kernels."""
    step = 0
    while True:
        step += 1
        job.matmuls(4, 1)
        if step % every == 0:
            with record_function("Optimizer.step#SGD.step"):
                job.matmuls(40, 0.1)
        yield


def calls(job: Job, name: str = "", milliseconds: float = 0) -> Iterator[None]:
    """A step with calls of the runtime in it that need not be there."""
    while True:
        job.matmuls(4, 2)
        job.read_loss()
        if name:
            for _ in range(4):
                job.device.call(name, milliseconds * MS)
        yield


@dataclass
class Pair:
    """A loop before and after a change, and the change as one asks for it."""

    loop: Loop
    before: dict[str, object]
    after: dict[str, object]
    what_if: str
    steps: int = 25  # more where a queue that is full when recording begins must not matter
    uneven: bool = False
    settle: int = 0  # of steps after the first that do not count: they eat a queue that filled while the profiler started
    samples: float = 1  # times as many per step after


PAIRS = {
    "workers": Pair(train, {"load": 20}, {"load": 20, "workers": 2}, "num_workers=2"),
    "one-worker": Pair(train, {"load": 8}, {"load": 8, "workers": 1}, "num_workers=1"),
    "slow-loader": Pair(train, {"load": 60}, {"load": 60, "workers": 2}, "num_workers=2", steps=80, settle=10),
    "four-workers": Pair(
        train, {"load": 60, "kernels": 2}, {"load": 60, "kernels": 2, "workers": 4}, "num_workers=4", steps=80, settle=20
    ),
    "twice": Pair(train, {"load": 40, "workers": 1}, {"load": 40, "workers": 2}, "num_workers=2x", steps=80, settle=10),
    "twice-enough": Pair(train, {"load": 18, "workers": 1}, {"load": 18, "workers": 2}, "num_workers=2x"),
    "loader-sync": Pair(
        train,
        {"load": 15, "host": 3, "read_every": 1},
        {"load": 15, "host": 3, "workers": 2},
        "num_workers=2,sync_every=0",
    ),
    "loader-sync-kept": Pair(
        train, {"load": 15, "host": 3, "read_every": 1}, {"load": 15, "host": 3, "workers": 2, "read_every": 1}, "num_workers=2"
    ),
    "pinned": Pair(
        train, {"megabytes": 100, "host": 2}, {"megabytes": 100, "host": 2, "pinned": True}, "pin_memory=true,non_blocking=true"
    ),
    "pinned-host": Pair(
        train,
        {"megabytes": 60, "host": 8, "kernels": 2},
        {"megabytes": 60, "host": 8, "kernels": 2, "pinned": True},
        "pin_memory=true,non_blocking=true",
    ),
    "loader-pinned": Pair(
        train,
        {"load": 12, "megabytes": 60},
        {"load": 12, "megabytes": 60, "workers": 2, "pinned": True},
        "num_workers=2,pin_memory=true,non_blocking=true",
    ),
    "loss": Pair(train, {"host": 6, "read_every": 1}, {"host": 6, "read_every": 10}, "sync_every=10", steps=31, uneven=True),
    "loss-never": Pair(train, {"host": 6, "read_every": 1}, {"host": 6}, "sync_every=0"),
    "synchronize": Pair(train, {"host": 9, "wait": True}, {"host": 9}, "sync_every=0"),
    "graph": Pair(launches, {}, {"grouped": True}, "cuda_graphs=true"),
    "tiny": Pair(small, {}, {"merged": True}, "merge_copies=true"),
    "batch": Pair(launches, {"kernel": 0.002}, {"kernel": 0.004}, "batch_size=2x", samples=2),
    "batch-device": Pair(train, {"kernel": 3}, {"kernel": 6}, "batch_size=2x", samples=2),
    "accumulate": Pair(optimizer, {}, {"every": 4}, "accumulation=4", steps=29, uneven=True),
    "allocator": Pair(calls, {"name": "cudaMalloc", "milliseconds": 1.5}, {}, "alloc_conf=expandable_segments:True"),
}


def record(loop: Loop, settings: dict[str, object], steps: int, path: Path) -> None:
    """Record so many steps after two of warming up."""
    job = Job(spin=False)
    warm = 2
    plan = schedule(wait=0, warmup=warm, active=steps, repeat=1)
    with profile(
        activities=[ProfilerActivity.CPU],
        acc_events=True,
        schedule=plan,
        on_trace_ready=lambda prof: prof.export_chrome_trace(str(path)),
    ) as prof:
        running = loop(job, **settings)
        for _ in range(warm + steps):
            next(running)
            prof.step()
        running.close()
    job.device.trace(str(path))


def ask(stoker: str, path: Path, *flags: str) -> dict:
    out = subprocess.run([stoker, "trace", "--json", *flags, str(path)], check=True, capture_output=True, text=True)
    return json.loads(out.stdout)


def step_of(pair: Pair, told: dict, path: Path) -> float:
    """Seconds of a step: on the device, or where the loader decides and first ones do not count, on the host."""
    if pair.settle:
        events = json.loads(path.read_text())["traceEvents"]
        marks = sorted(e["ts"] for e in events if str(e.get("name")).startswith("ProfilerStep") and e.get("cat") == "user_annotation")
        return (marks[-1] - marks[pair.settle]) / (len(marks) - 1 - pair.settle) / 1e6
    return told["replay"]["mean_s" if pair.uneven else "recorded_s"]


def try_pair(stoker: str, name: str, repeat: int, folder: Path) -> dict:
    pair = PAIRS[name]
    before, after = [], []
    for turn in range(repeat):
        for side, settings, steps, flags in (
            ("before", pair.before, before, ("--what-if", pair.what_if)),
            ("after", pair.after, after, ()),
        ):
            path = folder / f"{name}-{side}-{turn}.json"
            record(pair.loop, settings, pair.steps, path)
            told = ask(stoker, path, *flags)
            steps.append((step_of(pair, told, path), told))
    was, told = min(before, key=lambda one: one[0])
    forecast, achieved = told["plan"][0]["step_s"], min(after, key=lambda one: one[0])[0]
    low, point, high = (1e3 * forecast[end] for end in ("low", "point", "high"))
    return {
        "name": name,
        "what_if": pair.what_if,
        "before": 1e3 * was,
        "low": low,
        "point": point,
        "high": high,
        "achieved": 1e3 * achieved,
        "most": 1e3 * max(step for step, _ in after),
        "gain": pair.samples * 1e3 * was / point,
        "got": pair.samples * was / achieved,
        "inside": low <= 1e3 * achieved <= high,
        "error": point / (1e3 * achieved) - 1,
    }


def table(rows: list[dict]) -> Iterator[str]:
    yield "| pair | change | before ms | predicted ms [low, high] | achieved ms (most) | inside | error | predicted, achieved gain |"
    yield "|---|---|---|---|---|---|---|---|"
    for r in rows:
        yield (
            f"| {r['name']} | `{r['what_if']}` | {r['before']:.1f} | {r['point']:.1f} [{r['low']:.1f}, {r['high']:.1f}] "
            f"| {r['achieved']:.1f} ({r['most']:.1f}) | {'yes' if r['inside'] else 'no'} "
            f"| {100 * r['error']:+.1f} % | {r['gain']:.2f}x, {r['got']:.2f}x |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PAIRS)} (default: all)")
    parser.add_argument("--stoker", default=str(ROOT / "stoker"), help="the program to ask (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=3, help="recordings of each side, turn about (default: %(default)s)")
    parser.add_argument("--keep", type=Path, help="keep the traces in this folder")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in PAIRS]:
        parser.error(f"unknown pair {', '.join(unknown)}: choose of {', '.join(PAIRS)}")
    torch.set_num_threads(1)
    rows = []
    with contextlib.ExitStack() as stack:
        folder = arguments.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        for name in arguments.names or PAIRS:
            rows.append(try_pair(arguments.stoker, name, arguments.repeat, folder))
            print(list(table(rows[-1:]))[2], file=sys.stderr, flush=True)
    inside = sum(r["inside"] for r in rows)
    errors = [abs(r["error"]) for r in rows]
    print("\n".join(table(rows)))
    print(f"\n{inside} of {len(rows)} inside; error of the point {100 * statistics.median(errors):.1f} % in the median, {100 * max(errors):.1f} % at most")
    print(f"{time.strftime('%Y-%m-%d %H:%M')}, {machine()}, load {', '.join(f'{x:.1f}' for x in os.getloadavg())}, {arguments.repeat} recordings of each side")


if __name__ == "__main__":
    main()
