#!/usr/bin/env python3
"""How well a loader feeds an emulated accelerator that consumes as an H100 or an A100 does, on this machine's cores.

    python3 bench/loader/accelerator.py                     # about 5 minutes
    python3 bench/loader/accelerator.py --only stoker torch-v2 --rates 1786

The rates are those that MLPerf Storage emulates for ResNet-50: 400 pictures in
0.224 s are 1,786 a second on an H100, 400 in 0.435 s are 920 on an A100. A step
takes a batch, launches batch / rate seconds of work on stoker.emulated.Device,
and waits for it: once asleep, as a process does that the device wakes up
(`synchronize(spin=False)`), and once spinning as CUDA does by default, which
takes a core away from a loader on the same cores. Nothing is copied and nothing
is computed.

AU, accelerator utilisation, is the device's busy time over all time, the first
step left out. With it comes what the loader does to the trainer: how late a
thread of it that wants to wake up 1,000 times a second comes, which is what a
kernel launch would suffer. "no loader" gives the same batch again and again:
what the loop itself reaches here.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import account
import loaders
from contestants import BY_NAME, SIZE, STARTED, Job, load

RATES = {1786: "h100-sxm", 920: "a100-80gb-sxm"}
NO_LOADER = "none"
NAMES = (NO_LOADER, "stoker", "torch-v2", "torch-pil")
TICK = 0.001  # seconds


# In the trainer's process.


class Ticker(threading.Thread):
    """Wakes up 1,000 times a second and notes how late it was."""

    def __init__(self):
        super().__init__(daemon=True)
        self.late: list[float] = []
        self.wanted = True

    def run(self) -> None:
        while self.wanted:
            due = time.monotonic() + TICK
            time.sleep(TICK)
            self.late.append(time.monotonic() - due)

    def quantiles(self) -> dict[str, float]:
        cut = statistics.quantiles(self.late, n=1000)
        return {"median_ms": 1000 * cut[499], "p99_ms": 1000 * cut[989], "worst_ms": 1000 * max(self.late)}


def batches_of(name: str, job: Job):
    """Batches without end."""
    if name != NO_LOADER:
        load(BY_NAME[name])
        for epoch in BY_NAME[name].make(job):
            yield from epoch
    else:
        import numpy as np

        same = np.zeros((job.batch, 3, SIZE, SIZE), np.uint8 if job.uint8 else np.float32), np.arange(job.batch)
        while True:
            yield same


def train(name: str, job: Job, rate: int, spin: bool, seconds: float) -> dict:
    """Train for so many seconds after the first step, and tell how it went."""
    from stoker.emulated import Device

    device, ticker = Device(chip=RATES.get(rate, "h100-sxm")), Ticker()
    begin = cpu = None
    steps = 0
    for images, _ in batches_of(name, job):
        images[:, :, ::16, ::16].mean()
        device.launch(job.batch / rate, "step")
        device.synchronize(spin=spin)
        if begin is None:
            begin, cpu = time.monotonic(), account.cpu_seconds()
            ticker.start()
            continue
        steps += 1
        if time.monotonic() - begin > seconds:
            break
    end, used = time.monotonic(), account.cpu_seconds() - cpu
    ticker.wanted = False
    busy = 1 - device.idle_between(begin, end) / (end - begin)
    return {"au": busy, "images_per_s": steps * job.batch / (end - begin), "cores": used / (end - begin), **ticker.quantiles()}


# In the script's.


def measure(name: str, job: Job, rate: int, spin: bool, arguments: argparse.Namespace) -> dict:
    """One fresh process tree; its answer, or why there is none."""
    python = loaders.ROOT / "python/.venv/bin/python"
    this = [str(python), __file__, "--train", name, json.dumps(vars(job)), str(rate), str(int(spin)), str(arguments.seconds)]
    with account.Group() as group, tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        told = {**loaders.environment(job), **group.environment(), STARTED: str(time.monotonic())}
        process = subprocess.Popen(this, env=told, preexec_fn=group.enter, stdout=out, stderr=err, start_new_session=True)
        try:
            code = process.wait(arguments.seconds + 60)
        except subprocess.TimeoutExpired:
            return {"failed": f"did not end within {arguments.seconds + 60:.0f} s"}
        finally:
            group.kill()
            process.wait()
        out.seek(0)
        err.seek(0)
        lines = out.read().strip().splitlines()
        if code or not lines:
            return {"failed": loaders.last_line(err.read(), code)}
        return json.loads(lines[-1])


def table(results: dict[tuple, list[dict]]) -> str:
    lines = ["| loader | images/s asked for | trainer waits | AU % | images/s | cores used | 1 kHz thread late by ms: median | p99 | worst |"]
    lines.append("|---" * (lines[0].count("|") - 1) + "|")
    for (name, rate, spin), runs in results.items():
        title = BY_NAME[name].title if name != NO_LOADER else "no loader"
        cells = [title, f"{rate} ({RATES.get(rate, 'h100-sxm')}, emulated)", "spinning" if spin else "asleep"]
        good = [run for run in runs if "failed" not in run]
        if not good:
            cells += [f"fails: {runs[0]['failed']}".replace("|", "/"), "", "", "", "", ""]
        else:
            kinds = [("au", 100, 1), ("images_per_s", 1, 0), ("cores", 1, 2), ("median_ms", 1, 2), ("p99_ms", 1, 2), ("worst_ms", 1, 1)]
            cells += [loaders.spread([factor * run[kind] for run in good], digits) for kind, factor, digits in kinds]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=loaders.ROOT / "data/reference")
    parser.add_argument("--images", type=int, default=1280)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--uint8", action="store_true", help="without normalising")
    parser.add_argument("--seconds", type=float, default=10, help="that each is trained for (default 10)")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--rates", nargs="+", type=int, default=list(RATES), help="pictures a second (default 1786 920)")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=list(NAMES), metavar="NAME", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that was measured")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="put the table between this script's marks in the document")
    return parser.parse_args()


def main() -> None:
    if sys.argv[1:2] == ["--train"]:
        name, job, rate, spin, seconds = sys.argv[2:]
        print(json.dumps(train(name, Job(**json.loads(job)), int(rate), spin == "1", float(seconds))), flush=True)
        # Loaders' threads and workers may still be at it: the group is ended from outside.
        os._exit(0)
    arguments = parse()
    loaders.take_along()
    place = loaders.Place(arguments.markdown, "accelerator.py")
    files = loaders.pictures(arguments.data, arguments.images)
    scratch = loaders.scratch_of(arguments.data)
    loaders.warm(files)
    results: dict[tuple, list[dict]] = {}
    with loaders.one_folder_each(files, scratch) as root:
        job = Job(str(root), str(scratch), len(files), 1_000_000, arguments.batch, arguments.workers, arguments.uint8)
        for _ in range(arguments.rounds):
            for rate in arguments.rates:
                for spin in (False, True):
                    for name in arguments.only:
                        found = measure(name, job, rate, spin, arguments)
                        results.setdefault((name, rate, spin), []).append(found)
                        said = found.get("failed") or f"AU {100 * found['au']:.1f} %, {found['cores']:.2f} cores"
                        print(f"accelerator: {name} at {rate}, {'spinning' if spin else 'asleep'}: {said}", file=sys.stderr, flush=True)
    text = f"{loaders.machine()}. Batch {arguments.batch}, {arguments.workers} workers, {arguments.rounds} x {arguments.seconds:.0f} s each.\n\n{table(results)}"
    print(text)
    if arguments.json:
        rows = [{"name": name, "rate": rate, "spin": spin, "runs": runs} for (name, rate, spin), runs in results.items()]
        arguments.json.write_text(json.dumps({"about": text.splitlines()[0], "rows": rows}, indent=1) + "\n")
    place.put(text)


if __name__ == "__main__":
    main()
