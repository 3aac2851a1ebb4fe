#!/usr/bin/env python3
"""What a batch that is ready costs the trainer: the time of one `images, labels = next(iteration)`.

    python/.venv/bin/python bench/loader/handover.py            # about 4 minutes
    python/.venv/bin/python bench/loader/handover.py --count 1000 --root data/reference

Between two steps the daemon has the time to fill all free slots, so what is left
is the handing over itself: the packet is read, arrays or tensors are put over
the slot, and the batch before is dropped, whose slot goes back. The trainer
either sleeps meanwhile, as one that waits for its device, and finds its caches
cold; or it is at work in Python, as one that launches kernels. Two clocks: time on
the wall, which has in it what the daemon's waking up and other processes take
from us, and CPU time of the trainer's thread.

The pictures are small, made here and always the same: what is in a batch plays
no part. Its size does not either, for nothing is copied; --batch shows that.
"""

import argparse
import gc
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import stoker  # noqa: E402  (from this checkout)

WARM_UP = 8  # batches: the ring is mapped, its pages are there


def pictures(folder: str) -> str:
    """A folder of 512 small JPEGs in two classes."""
    import numpy as np
    from PIL import Image

    noise = np.random.default_rng(1)
    for number in range(512):
        at = os.path.join(folder, "ab"[number % 2])
        os.makedirs(at, exist_ok=True)
        Image.fromarray(noise.integers(0, 255, (8, 8, 3), np.uint8)).resize((64, 64)).save(os.path.join(at, f"{number:04}.jpg"))
    return folder


def loader_of(kind: str, root: str, batch: int):
    """The usual training transforms, as bytes and as floats."""
    if kind == "stoker.Loader":
        ops = [{"op": "random_resized_crop", "size": [224, 224]}, {"op": "random_horizontal_flip"}, {"op": "to_tensor"}]
        return stoker.Loader(root, ops, batch_size=batch, shuffle=True)
    from torchvision import transforms as T
    from torchvision.datasets import ImageFolder

    transform = T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor()])
    return stoker.DataLoader(ImageFolder(root, transform), batch_size=batch, shuffle=True, seed=1)


def work(seconds: float) -> None:
    """What launching kernels is like: Python, and small operations."""
    import numpy as np

    until, small = time.perf_counter() + seconds, np.zeros(16)
    while time.perf_counter() < until:
        small = small * 0.5 + 1


def measure(kind: str, root: str, batch: int, count: int, pause: float, trainer: str) -> dict:
    """Seconds of each hand-over, on both clocks. The last batch of an epoch is a copy, and counted apart."""
    wall, core, last = [], [], []
    gc.collect()
    gc.disable()  # a collection belongs to whoever makes the garbage
    with loader_of(kind, root, batch) as loader:
        steps, step, iteration = len(loader), 0, iter(loader)
        images = labels = None
        while len(wall) < count + WARM_UP:
            (time.sleep if trainer == "sleeps" else work)(pause)
            began, used = time.perf_counter(), time.thread_time()
            images, labels = next(iteration)
            used, began = time.thread_time() - used, time.perf_counter() - began
            step += 1
            if step == steps:
                last.append(began)
                iteration, step = iter(loader), 0
            else:
                wall.append(began)
                core.append(used)
        del images, labels
    gc.enable()
    return {
        "loader": kind,
        "trainer": trainer,
        "batch": batch,
        "count": count,
        "wall_us": quantiles(wall[WARM_UP:]),
        "core_us": quantiles(core[WARM_UP:]),
        "last_of_epoch_us": round(1e6 * statistics.median(last), 1) if last else None,
    }


def quantiles(seconds: list[float]) -> dict[str, float]:
    cut = statistics.quantiles(seconds, n=100)
    return {"median": round(1e6 * cut[49], 1), "p99": round(1e6 * cut[98], 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500, help="hand-overs of each loader (default 500)")
    parser.add_argument("--batch", type=int, default=64, help="pictures of a batch (default 64)")
    parser.add_argument("--pause", type=float, default=0.1, help="seconds between two of them (default 0.1; it has to be enough to fill a batch)")
    parser.add_argument("--only", nargs="*", default=["stoker.Loader", "stoker.DataLoader"], metavar="LOADER")
    parser.add_argument("--root", help="an ImageFolder's folder (default: small pictures made for this)")
    parser.add_argument("--json", metavar="FILE", help="write the rows to FILE as well")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        root = arguments.root or pictures(folder)
        print("loader             trainer     n   wall us: median      p99   core us: median      p99   last of an epoch, a copy, us", flush=True)
        for kind, trainer in itertools.product(arguments.only, ("sleeps", "works")):
            row = measure(kind, root, arguments.batch, arguments.count, arguments.pause, trainer)
            rows.append(row)
            wall, core, last = row["wall_us"], row["core_us"], row["last_of_epoch_us"] or "-"
            print(f"{kind:18} {trainer:7} {row['count']:5} {wall['median']:17} {wall['p99']:8} {core['median']:17} {core['p99']:8} {last:>30}", flush=True)
    load = os.getloadavg()[0]
    print(
        f"batch {arguments.batch} of 3x224x224 float32, {arguments.pause} s apart, {os.cpu_count()} cores,"
        f" load average {load:.1f}, Python {sys.version.split()[0]}"
    )
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({"load": load, "cores": os.cpu_count(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
