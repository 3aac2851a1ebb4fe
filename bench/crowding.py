#!/usr/bin/env python3
"""How much slower a core prepares images when its neighbours come into use: core time per image, 1 against N processes.

    python/.venv/bin/python bench/crowding.py

Shared caches, memory bandwidth and turbo make a busy machine's cores slower
each. It measures Pillow's decode and RandomResizedCrop, as an ImageFolder
does them, on files held in memory; core time, not wall time, so that waiting
for a core does not count. 1 and N processes take turns, because a machine
changes its speed from minute to minute. `crowding` in predict/law.go
comes from here.
"""

import argparse
import io
import json
import multiprocessing
import os
import random
import statistics
import sys
import time
from pathlib import Path

import torch
from PIL import Image
from torchvision import transforms

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples" / "imagefolder"))
import make_images


def core_seconds_per_image(files: list[bytes], processes: int, seconds: float) -> float:
    """Mean over the processes of core time per image, all of them at work from start to end."""
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    gate = context.Barrier(processes)
    crew = [context.Process(target=_prepare, args=(files, number, seconds, gate, results)) for number in range(processes)]
    for worker in crew:
        worker.start()
    costs = [results.get() for _ in crew]
    for worker in crew:
        worker.join()
    return statistics.mean(costs)


def _prepare(files: list[bytes], number: int, seconds: float, gate, results) -> None:
    """Decode and crop for a while; report core time per image."""
    torch.set_num_threads(1)  # as a loader worker has it
    torch.manual_seed(0)
    transform = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor()])
    order = list(range(len(files)))
    random.Random(number).shuffle(order)  # neighbours do not walk in step
    _once(files[0], transform)
    gate.wait()
    images, until, start = 0, time.monotonic() + seconds, time.process_time()
    # Whole rounds over all files: images differ by a factor of ten.
    while time.monotonic() < until:
        for index in order:
            _once(files[index], transform)
        images += len(order)
    results.put((time.process_time() - start) / images)


def _once(data: bytes, transform: transforms.Compose) -> None:
    with Image.open(io.BytesIO(data)) as image:
        transform(image.convert("RGB"))


def load(folder: Path | None, count: int) -> list[bytes]:
    """Sample JPEGs in memory: from the folder, else made on the spot."""
    if folder is None:
        return [make_images.encode(plan) for plan in make_images.draw_plans(count, seed=1)]
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))[:count]
    if not paths:
        sys.exit(f"crowding: error: no JPEG under {folder}")
    return [path.read_bytes() for path in paths]


def main() -> None:
    cores = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=cores, help=f"how many at once against one (default {cores}, the cores here)")
    parser.add_argument("--rounds", type=int, default=10, help="pairs of runs (default 10)")
    parser.add_argument("--seconds", type=float, default=1.5, help="length of a run (default 1.5)")
    parser.add_argument("--images", type=int, default=100, help="distinct images (default 100)")
    parser.add_argument("--data", type=Path, help="folder with JPEGs (default: made in memory)")
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE as well")
    arguments = parser.parse_args()

    files = load(arguments.data, arguments.images)
    pairs = []
    for _ in range(arguments.rounds):
        pairs.append(tuple(core_seconds_per_image(files, n, arguments.seconds) for n in (1, arguments.processes)))
        print(f"  1 process {pairs[-1][0] * 1e3:.3f} ms per image, {arguments.processes} processes {pairs[-1][1] * 1e3:.3f}"
              f"   ratio {pairs[-1][1] / pairs[-1][0]:.3f}", flush=True)
    ratios = sorted(many / one for one, many in pairs)
    print(f"crowding: median {statistics.median(ratios):.3f} ({ratios[0]:.3f} .. {ratios[-1]:.3f}), n = {len(ratios)} pairs;"
          f" {statistics.median(one for one, _ in pairs) * 1e3:.2f} ms per image alone; {cores} cores,"
          f" load average at the end {os.getloadavg()[0]:.1f}")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({"processes": arguments.processes, "pairs_s": pairs, "ratios": ratios}, indent=1))


if __name__ == "__main__":
    main()
