#!/usr/bin/env python3
"""How much memory observing and feeding take when they go on: a line a minute, which has to be flat.

    make soak                         30 minutes, and 48 simulated hours of recording before
    python3 bench/soak.py --minutes 5

Side by side: `stoker observe` of a program that only sleeps, of a loop of as many steps a second as Python makes, of one of 17 steps a second
whose two loader workers are started anew every ten seconds, and a loader of stoker's that goes over a folder of pictures again and again.
Memory is what only that process holds (RssAnon of /proc/PID/status). Ends with 1 where observing took more than 40 MB, or where the last third
of the time took more than the middle one by a tenth and 2 MB.
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_MB = 40

LOOP = """
import sys, time
import torch
from torch.utils.data import DataLoader, Dataset
class Numbers(Dataset):
    def __len__(self): return {length}
    def __getitem__(self, i): return i
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
ends = time.monotonic() + {seconds}
steps = 0
while time.monotonic() < ends:
    for batch in DataLoader(Numbers(), batch_size=1, collate_fn=lambda samples: samples, num_workers={workers}):
        time.sleep({pause}) if {pause} else None
        steps += 1
        if time.monotonic() > ends: break
print(steps / {seconds}, "steps/s")
"""

FEED = """
import sys, time
import numpy, stoker
ends = time.monotonic() + {seconds}
while time.monotonic() < ends:
    with stoker.Loader({images!r}, batch=16, size=64) as loader:
        for batch in loader:
            if time.monotonic() > ends: break
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--stoker", type=Path, default=ROOT / "bin/stoker")
    parser.add_argument("--python", type=Path, default=ROOT / "python/.venv/bin/python")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return soak(arguments, Path(folder))


def soak(arguments: argparse.Namespace, folder: Path) -> int:
    seconds = arguments.minutes * 60
    loops = {
        "rest": ["sleep", f"{seconds:g}"],
        "fast": [str(arguments.python), "-c", LOOP.format(length=10**7, seconds=seconds, workers=0, pause=0)],
        "workers": [str(arguments.python), "-c", LOOP.format(length=170, seconds=seconds, workers=2, pause=0.058)],
    }
    started = {
        name: subprocess.Popen(
            [str(arguments.stoker), "observe", "-q", "-o", str(folder / f"{name}.jsonl.gz"), "--", *command], start_new_session=True
        )
        for name, command in loops.items()
    }
    used: dict[str, list[float]] = {name: [] for name in started}
    print(" ".join(["minute", *(f"{name:>10}" for name in started), *(f"{name + '.gz':>10}" for name in started)]), "  MB", flush=True)
    try:
        began = time.monotonic()
        while time.monotonic() < began + seconds - 15:
            time.sleep(min(60, seconds / 10))
            for name, process in started.items():
                used[name].append(anonymous(process.pid))
            sizes = [(folder / f"{name}.jsonl.gz").stat().st_size / 1e6 for name in started]
            minute = (time.monotonic() - began) / 60
            print(" ".join([f"{minute:6.1f}", *(f"{used[name][-1]:10.1f}" for name in started), *(f"{size:10.2f}" for size in sizes)]), flush=True)
        for process in started.values():
            process.wait()
    finally:
        for process in started.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    return judge(used)


def judge(used: dict[str, list[float]]) -> int:
    """1 where memory was too much, or grew."""
    bad = 0
    for name, values in used.items():
        third = len(values) // 3
        middle, last = statistics.mean(values[third : 2 * third]), statistics.mean(values[2 * third :])
        grew = last > 1.1 * middle + 2
        bad |= max(values) > MOST_MB or grew
        print(f"{name}: at most {max(values):.1f} MB; {middle:.1f} MB in the middle third, {last:.1f} MB in the last: {'grew' if grew else 'flat'}")
    return int(bad)


def anonymous(pid: int) -> float:
    """RssAnon of a process, MB; 0 where it has ended."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon"):
                return int(line.split()[1]) * 1024 / 1e6
    except OSError:
        pass
    return 0.0


if __name__ == "__main__":
    sys.exit(main())
