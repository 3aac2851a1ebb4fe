#!/usr/bin/env python3
"""Memory of observing and feeding over a long time: a line a minute, which must not grow.

    make soak                         30 minutes, and 48 simulated hours of recording before
    python3 bench/soak.py --minutes 5

These run at the same time: `stoker observe` of a program that sleeps, of a loop of 20,000 steps a second, and of one of 17 steps a second whose
two loader workers restart every ten seconds; and the daemon of a stoker.Loader that reads the same pictures again and again, as fast as it can,
and records itself. Memory is RssAnon of /proc/PID/status. The exit code is 1 if a process took more than 40 MB (the screen 80 MB, or more than
2 % of a core), or if its last third took over a tenth and 2 MB more than its middle third.
"""

import argparse
import fcntl
import os
import pty
import signal
import struct
import statistics
import subprocess
import sys
import tempfile
import termios
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_MB = {"watch": 80}
MOST_CORE = 0.02

LOOP = """
import time, torch
from torch.utils.data import DataLoader, Dataset
class Numbers(Dataset):
    def __len__(self): return {length}
    def __getitem__(self, i): return i
began, steps = time.monotonic(), 0
while time.monotonic() < began + {seconds}:
    for batch in DataLoader(Numbers(), batch_size=1, collate_fn=lambda samples: samples, num_workers={workers}):
        steps += 1
        if steps % {burst} == 0: time.sleep(max(0, began + steps / {rate} - time.monotonic()))
        if time.monotonic() > began + {seconds}: break
print("%.0f steps/s" % (steps / {seconds}))
"""

FEED = """
import numpy, os, time, stoker
from PIL import Image
os.makedirs({folder!r} + "/images/one")
for i in range(256): Image.fromarray(numpy.full((40, 40, 3), i, numpy.uint8)).save({folder!r} + "/images/one/%d.png" % i)
ends, batches = time.monotonic() + {seconds}, 0
with stoker.Loader({folder!r} + "/images", ops=[dict(op="resize", size=[40, 40]), dict(op="pil_to_tensor")], batch_size=8, num_workers=1, record={folder!r} + "/feed.jsonl.gz") as loader:
    while time.monotonic() < ends:
        for batch in loader: batches += 1
print("%.0f batches/s" % (batches / {seconds}))
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
    python = [str(arguments.python), "-c"]
    loops = {
        "rest": ["sleep", f"{seconds:g}"],
        "fast": [*python, LOOP.format(length=10**7, seconds=seconds, workers=0, rate=20_000, burst=200)],
        "workers": [*python, LOOP.format(length=170, seconds=seconds, workers=2, rate=17, burst=1)],
    }
    observe = [str(arguments.stoker), "observe", "-q", "-o"]
    commands = {name: [*observe, str(folder / f"{name}.jsonl.gz"), "--", *command] for name, command in loops.items()}
    commands["feed"] = [*python, FEED.format(folder=str(folder), seconds=seconds)]
    env = os.environ | {"PYTHONPATH": str(ROOT / "python"), "STOKER_BIN": str(arguments.stoker)}
    started = {name: subprocess.Popen(command, env=env, start_new_session=True) for name, command in commands.items()}
    started["watch"] = on_terminal([str(arguments.stoker), "watch", str(folder / "fast.jsonl.gz")], folder / "fast.jsonl.gz")
    used: dict[str, list[float]] = {name: [] for name in started}
    print(" ".join(["minute", *(f"{name:>10}" for name in started), *(f"{name + '.gz':>10}" for name in started if name != "watch")]), "  MB", flush=True)
    try:
        began = time.monotonic()
        while time.monotonic() < began + seconds - 15:
            time.sleep(min(60, seconds / 10))
            for name, process in started.items():
                used[name].append(anonymous(daemon_of(process.pid) if name == "feed" else process.pid))
            sizes = [(folder / f"{name}.jsonl.gz").stat().st_size / 1e6 for name in started if name != "watch"]
            minute = (time.monotonic() - began) / 60
            print(" ".join([f"{minute:6.1f}", *(f"{used[name][-1]:10.1f}" for name in started), *(f"{size:10.2f}" for size in sizes)]), flush=True)
        core = cores(started["watch"].pid) / (time.monotonic() - began)
        started["watch"].terminate()
        for process in started.values():
            process.wait()
    finally:
        for process in started.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    print(f"watch: {100 * core:.1f} % of a core")
    return judge(used) or int(core > MOST_CORE)


def on_terminal(command: list[str], needs: Path) -> subprocess.Popen[bytes]:
    """Run a command on an unread pseudo-terminal, once a file exists."""
    while not needs.exists():
        time.sleep(0.1)
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
    process = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, start_new_session=True, env=os.environ | {"TERM": "xterm-256color", "LANG": "C.UTF-8"})
    threading.Thread(target=lambda: all(iter(lambda: os.read(ours, 1 << 16), b"")), daemon=True).start()
    return process


def cores(pid: int) -> float:
    """Return the core seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def judge(used: dict[str, list[float]]) -> int:
    """Return 1 if a process took too much memory, or grew."""
    bad = 0
    for name, values in used.items():
        third = len(values) // 3
        middle, last = statistics.mean(values[third : 2 * third]), statistics.mean(values[2 * third :])
        grew = last > 1.1 * middle + 2
        bad |= max(values) > MOST_MB.get(name, 40) or grew
        print(f"{name}: at most {max(values):.1f} MB; {middle:.1f} MB in the middle third, {last:.1f} MB in the last: {'grew' if grew else 'flat'}")
    return int(bad)


def daemon_of(pid: int) -> int:
    """Return the feed daemon that a process started; 0 if it started none."""
    found = subprocess.run(["pgrep", "-P", str(pid), "-f", "stoker feed"], capture_output=True, text=True, check=False).stdout.split()
    return int(found[0]) if found else 0


def anonymous(pid: int) -> float:
    """Return RssAnon of a process in MB; 0 if it has ended."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon"):
                return int(line.split()[1]) * 1024 / 1e6
    except OSError:
        pass
    return 0.0


if __name__ == "__main__":
    sys.exit(main())
