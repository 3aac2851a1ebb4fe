#!/usr/bin/env python3
"""What people say about starving GPUs, measured here: the figures of docs/claims.md.

    python/.venv/bin/python bench/claims/claims.py              # all, about three minutes
    python/.venv/bin/python bench/claims/claims.py --only pairs

pairs     published figures of one program that differ in precision or software alone (predict/device/testdata)
cases     GPU-Util and class of each recording of testdata/cases, by bin/stoker
simulated the same of the simulated jobs of bench/accuracy (stoker-runs/accuracy.jsonl, made by make accuracy)
copies    memory that each worker adds while it reads a data set of Python objects, and of an array
prefetch  memory that is held by batches ahead of a slow loop
four      what four workers do for three networks on four GPUs, by stoker predict
workers   core time of a sample, and samples a second, by number of workers on one core

PyTorch's own loader does copies, prefetch and workers. Core time is what counts there: the machine may be shared.
"""

import argparse
import csv
import json
import os
import re
import statistics
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent


def spread(values: list[float]) -> str:
    values = sorted(values)
    low, high = values[len(values) // 10], values[-1 - len(values) // 10]
    return f"{statistics.median(values):.2f}x in the median of {len(values)} ({low:.2f} to {high:.2f} hold four in five)"


# Published pairs.

PAIRS = (
    ("half precision over float32", "precision", "fp16", "fp32"),
    ("half precision over TF32", "precision", "fp16", "tf32"),
    ("int8 over half precision", "precision", "int8", "fp16"),
    ("fp8 over half precision", "precision", "fp8", "fp16"),
    ("compiled over eager", "software", "compiled", "eager"),
)


def published_rows() -> list[dict]:
    rows, seen = [], set()
    for name in ("fit.csv", "pairs.csv", "exam.csv"):
        with (ROOT / "predict/device/testdata" / name).open() as file:
            for row in csv.DictReader(file):
                kept = {k: row.get(k) or "" for k in KEYS}
                if row.get("rate") and (key := tuple(kept.values())) not in seen:
                    seen.add(key)
                    rows.append(kept)
    return rows


KEYS = ("workload", "variant", "gpu", "precision", "software", "training", "batch", "tokens", "image", "gpus", "shard", "recompute", "source", "rate")


def pairs() -> None:
    rows = published_rows()
    print(f"{len(rows)} published figures")
    for text, what, fast, slow in PAIRS:
        alike = defaultdict(lambda: defaultdict(list))
        for row in rows:
            alike[tuple(v for k, v in row.items() if k not in (what, "rate"))][row[what]].append(float(row["rate"]))
        ratios = [statistics.median(by[fast]) / statistics.median(by[slow]) for by in alike.values() if fast in by and slow in by]
        print(f"  {text}: {spread(ratios)}; {sum(r < 1.05 for r in ratios)} gain less than 1.05x" if ratios else f"  {text}: no pair")


# What GPU-Util says.


def cases() -> None:
    high, sawtooth, starved = [], [], []
    for file in sorted((ROOT / "testdata/cases").glob("*/run.jsonl*")):
        done = subprocess.run([ROOT / "bin/stoker", "diagnose", "--json", file], capture_output=True, text=True)
        said = json.loads(done.stdout) if done.returncode == 0 else {}
        verdict, shares = said.get("verdict") or {}, said.get("shares") or {}
        name, kind = file.parent.name, verdict.get("class", "")
        if (shares.get("kernel") or 0) >= 0.9:
            high.append((name, kind))
        if any(f.get("name") == "sawtooth" for f in said.get("findings") or []):
            sawtooth.append((name, kind))
        if kind.startswith(("cpu-bound/", "io-bound")):
            starved.append(name)
    print(f"of the recordings in testdata/cases, {len(high)} have GPU-Util of 90 % and more:")
    print("  " + ", ".join(f"{name} ({kind})" for name, kind in high))
    print(f"{len(sawtooth)} have a sawtooth: " + ", ".join(f"{name} ({kind})" for name, kind in sawtooth))
    print(f"{len(starved)} starve, {sum(name in starved for name, _ in sawtooth)} of them with a sawtooth")


def simulated() -> None:
    kept = ROOT / "stoker-runs/accuracy.jsonl"
    papers = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    last = papers[-1]["binary"] if papers else ""
    papers = [p for p in papers if p["binary"] == last and p["sight"] == "all signals" and p["set"] == "test"]
    papers = [p for p in papers if p["class"] not in ("compute-on-cpu", "not-training")]
    count = lambda of: ", ".join(f"{kind} {n}" for kind, n in sorted(tally(of).items(), key=lambda item: -item[1]))  # noqa: E731
    high = [p for p in papers if p["util"] >= 0.9]
    teeth = [p for p in papers if p.get("pattern") == "sawtooth"]
    starved = [p for p in papers if p["class"].startswith(("cpu-bound/", "io-bound"))]
    print(f"of {len(papers)} simulated jobs, {len(high)} have GPU-Util of 90 % and more: {count(high)}")
    print(f"{len(teeth)} have a sawtooth: {count(teeth)}")
    print(f"{len(starved)} starve, {sum(p.get('pattern') == 'sawtooth' for p in starved)} of them with a sawtooth")


def tally(papers: list[dict]) -> dict[str, int]:
    counts: dict[str, int] = defaultdict(int)
    for paper in papers:
        counts[paper["class"]] += 1
    return counts


def four() -> None:
    starve = []
    for gpu in ("t4", "v100-sxm-16gb", "a100-80gb-sxm", "h100-sxm"):
        for model in ("resnet50", "vit-b-16", "bert-base"):
            command = ["predict", "--gpu", gpu, "--model", model, "--batch", "64", "--cores", "64", "--storage", "nvme", "--workers", "4", "--json"]
            said = json.loads(subprocess.run([ROOT / "bin/stoker", *command], capture_output=True, text=True, check=True).stdout)
            if said["verdict"]["class"] != "gpu-bound" and not said["verdict"]["class"].startswith("gpu-bound/"):
                starve.append(f"{model} on {gpu} waits {100 * said['verdict']['stall']:.0f} %")
    print(f"four workers, batch 64, 12 pairs: {len(starve)} starve: {', '.join(starve)}")


# PyTorch's loader.


def private(pid: int) -> int:
    """Bytes that no other process shares."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(kb) for kb in re.findall(r"^Private_(?:Clean|Dirty):\s+(\d+)", text, re.M)) << 10


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def core_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def make_data(kind: str):
    import numpy as np
    from torch.utils.data import Dataset

    class Data(Dataset):
        samples = 500_000

        def __init__(self) -> None:
            numbers = range(self.samples)
            self.data = [f"sample {n}" for n in numbers] if kind == "list" else np.array([f"sample {n}" for n in numbers], dtype="S16")

        def __len__(self) -> int:
            return self.samples

        def __getitem__(self, index: int) -> int:
            return len(self.data[index])

    return Data()


def copies() -> None:
    from torch.utils.data import DataLoader

    for kind in ("list", "array"):
        data, batch = make_data(kind), 2048
        for workers in (1, 2, 4):
            batches = iter(DataLoader(data, batch, shuffle=True, num_workers=workers, collate_fn=sum))
            next(batches)
            before = [private(pid) for pid in children(os.getpid())]
            for _ in range(len(data) // batch - 4 * workers):
                next(batches)
            grown = [private(pid) - b for pid, b in zip(children(os.getpid()), before)]
            del batches
            print(f"  {kind} of {len(data):,} samples: {workers} workers grow by {', '.join(f'{g / 1e6:.0f}' for g in grown)} MB over an epoch")


def prefetch() -> None:
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Pictures(Dataset):
        def __len__(self) -> int:
            return 1_000_000

        def __getitem__(self, index: int):
            return torch.zeros(3, 128, 128)

    shm = lambda: (lambda s: (s.f_blocks - s.f_bfree) * s.f_frsize)(os.statvfs("/dev/shm"))  # noqa: E731
    for factor in (2, 4, 16, 32):
        free = shm()
        batches = iter(DataLoader(Pictures(), 32, num_workers=2, prefetch_factor=factor))
        for _ in range(3):
            next(batches)
        time.sleep(4)  # the loop is slow, and the workers fill what they may
        held = shm() - free
        size = 32 * 3 * 128 * 128 * 4
        print(f"  prefetch_factor={factor}, 2 workers, batches of {size / 1e6:.1f} MB: {held / 1e6:.0f} MB of /dev/shm are held, {held / size:.0f} batches; "
              "none is on a device")
        del batches


def workers() -> None:
    """One core for all: a sample that wants a core, and one that waits for storage."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    from torch.utils.data import DataLoader, Dataset
    import torch
    import zlib

    piece = bytes(16 << 10)

    class Samples(Dataset):
        def __init__(self, asleep: bool) -> None:
            self.asleep = asleep

        def __len__(self) -> int:
            return 1_000_000

        def __getitem__(self, index: int):
            if self.asleep:
                time.sleep(0.01)
            else:
                until = time.thread_time() + 0.002
                while time.thread_time() < until:
                    zlib.crc32(piece)
            return torch.zeros(3, 32, 32)

    for asleep in (False, True):
        for count in (1, 2, 4, 8, 16):
            batches = iter(DataLoader(Samples(asleep), 16, num_workers=count))
            for _ in range(2 * count):
                next(batches)
            pids = children(os.getpid())
            used, own, start, n = sum(map(core_s, pids)), core_s(os.getpid()), time.monotonic(), 40 if not asleep else 20 * count
            for _ in range(n):
                next(batches)
            took = time.monotonic() - start
            used = sum(map(core_s, pids)) - used
            memory = sum(map(private, pids))
            del batches
            kind = "asleep 10 ms" if asleep else "2 ms of core time"
            print(f"  {kind} a sample, {count} workers on one core: {1e3 * used / n / 16:.2f} ms of core time a sample, {16 * n / took:.0f} samples/s, "
                  f"{memory / 1e6:.0f} MB of their own")


MEASUREMENTS = (pairs, cases, simulated, four, copies, prefetch, workers)


def main() -> None:
    warnings.filterwarnings("ignore", message="This DataLoader will create")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=[m.__name__ for m in MEASUREMENTS])
    only = parser.parse_args().only
    if only:
        {m.__name__: m for m in MEASUREMENTS}[only]()
        return
    print(f"{os.uname().release}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}")
    for measurement in MEASUREMENTS:  # each in a separate process: none inherits another's memory
        print(f"{measurement.__name__}:", flush=True)
        subprocess.run([sys.executable, __file__, "--only", measurement.__name__], check=True)


if __name__ == "__main__":
    main()
