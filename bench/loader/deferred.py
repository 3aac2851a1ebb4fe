#!/usr/bin/env python3
"""Compares the CPU time per picture of an unchanged script, alone and fed, over all processes and the daemon.

    python/.venv/bin/python bench/loader/deferred.py FOLDER              FOLDER has a folder of JPEGs per class
    python/.venv/bin/python bench/loader/deferred.py FOLDER --only folder --rounds 5
    python/.venv/bin/python bench/loader/deferred.py FOLDER --before ../main      another checkout's, fed in turn with this one's

Both run in turn in each round, so that a shared machine's good and bad minutes hit both. The first epoch warms up and is
not counted. The batches of the first epoch are compared by digest. Memory is a worker's proportional set size in the end, above that of a worker
that has loaded nothing.
"""

import argparse
import hashlib
import json
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

import account

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("folder", "evaluation", "reference", "deit", "moco", "v2", "bytes", "numpy", "collate", "simclr")


def job(arguments: argparse.Namespace) -> None:
    """One run, in a separate process."""
    import io

    import numpy as np
    import torch
    from PIL import Image
    from torchvision import transforms as T
    from torchvision.datasets import ImageFolder
    from torchvision.transforms import v2

    tail = [T.ToTensor(), T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
    crop, flip = T.RandomResizedCrop(224), T.RandomHorizontalFlip()
    twice = T.Compose([
        crop, T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8), T.RandomGrayscale(0.2), T.RandomApply([T.Lambda(blur)], p=0.5), flip, *tail,
    ])  # fmt: skip
    torched = T.Compose([crop, flip, T.RandomApply([T.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8), T.RandomGrayscale(0.2), T.GaussianBlur(23), T.ToTensor()])
    transforms = {
        "folder": T.Compose([crop, flip, *tail]),
        "evaluation": T.Compose([T.Resize(256), T.CenterCrop(224), *tail]),
        "reference": T.Compose([crop, flip, T.TrivialAugmentWide(), *tail, T.RandomErasing(0.1)]),
        "deit": T.Compose([T.RandomResizedCrop(224, interpolation=T.InterpolationMode.BICUBIC), flip, T.RandAugment(2, 9), *tail, T.RandomErasing(0.25)]),
        "moco": lambda image: [twice(image), twice(image)],
        "v2": v2.Compose([v2.RandomResizedCrop(224), v2.RandomHorizontalFlip(), v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5] * 3, [0.25] * 3)]),
        "bytes": T.Compose([crop, flip, *tail]),
        "numpy": lambda image: torch.from_numpy(np.asarray(image.resize((224, 224))).transpose(2, 0, 1).copy()),
        "collate": T.Compose([crop, flip, T.PILToTensor()]),
        "simclr": lambda image: [torched(image), torched(image)],
    }
    data = ImageFolder(arguments.folder, transforms[arguments.job])
    if arguments.job == "bytes":
        data.loader = lambda path: Image.open(io.BytesIO(Path(path).read_bytes())).convert("RGB")
    torch.manual_seed(1)
    random.seed(1)
    seen = hashlib.sha256()
    if arguments.batches:
        data = torch.utils.data.Subset(data, range(arguments.batches * arguments.batch))
    settings = {"shuffle": True, "num_workers": arguments.workers, "persistent_workers": not arguments.anew, "collate_fn": mix if arguments.job == "collate" else None}
    loader = torch.utils.data.DataLoader(data, arguments.batch, **settings)
    for images, _ in loader:
        for part in images if isinstance(images, list) else [images]:
            seen.update(part.numpy().tobytes())
    cpu, began = account.cpu_seconds(), time.monotonic()
    for _ in range(1, arguments.epochs):
        for _ in loader:
            pass
    cpu, seconds = account.cpu_seconds() - cpu, time.monotonic() - began
    workers = [0] if arguments.anew else [account._pss(worker.pid) for worker in loader._iterator._workers]
    empty = iter(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.zeros(1)), num_workers=1))
    next(empty)
    above = statistics.mean(workers) - account._pss(empty._workers[0].pid)
    print(json.dumps([cpu, seconds, seen.hexdigest(), above]))


def blur(image):
    from PIL import ImageFilter

    return image.filter(ImageFilter.GaussianBlur(1.0))


def mix(samples):
    """As timm's fast_collate with mixup has it: each picture's values are read on their own."""
    import torch

    batch = torch.zeros((len(samples), *samples[0][0].shape), dtype=torch.uint8)
    for i, (image, _) in enumerate(samples):
        other = samples[len(samples) - i - 1][0]
        batch[i] += torch.round(image.float() * 0.7 + other.float() * 0.3).to(torch.uint8)
    return batch, torch.tensor([label for _, label in samples])


def measure(kind: str, fed: bool, arguments: argparse.Namespace, root: Path = ROOT) -> list:
    """CPU seconds and seconds of the counted epochs, digest, bytes of a worker."""
    command = [sys.executable, "-W", "ignore", __file__, arguments.folder, "--job", kind, "--epochs", str(arguments.epochs)]
    command += ["--workers", str(arguments.workers), "--batch", str(arguments.batch), "--batches", str(arguments.batches)]
    command += ["--anew"] if arguments.anew else []
    if fed:
        command = [str(root / "bin" / "stoker"), "feed", "--", *command]
    with account.Group() as group:
        environment = {**os.environ, **group.environment(), "PYTHONPATH": str(root / "python")}
        done = subprocess.run(command, env=environment, preexec_fn=group.enter, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--only", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batches", type=int, default=0, help="of an epoch; 0: as many as there are")
    parser.add_argument("--anew", action="store_true", help="fork the workers anew in each epoch; their memory is not looked at")
    parser.add_argument("--before", type=Path, help="another checkout, with its bin/stoker, to be measured in turn")
    parser.add_argument("--job", choices=KINDS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.job:
        return job(arguments)
    pictures = sum(1 for _ in Path(arguments.folder).glob("*/*"))
    counted = (arguments.batches * arguments.batch or pictures) * (arguments.epochs - 1)
    print("| pipeline | n | alone, CPU-ms per image | fed | fed / alone | images/s alone | fed | MB of a worker alone | fed | equal |\n" + "|---" * 10 + "|")
    for kind in arguments.only:
        rows: dict[bool, list[float]] = {False: [], True: []}
        speeds: dict[bool, list[float]] = {False: [], True: []}
        memory: dict[bool, list[float]] = {False: [], True: []}
        digests, before = set(), []
        for _ in range(arguments.rounds):
            if arguments.before:
                cpu, _, digest, _ = measure(kind, True, arguments, arguments.before)
                before.append(1e3 * cpu / counted)
                digests.add(digest)
            for fed in rows:
                cpu, seconds, digest, above = measure(kind, fed, arguments)
                memory[fed].append(above / 1e6)
                rows[fed].append(1e3 * cpu / counted)
                speeds[fed].append(counted / seconds)
                digests.add(digest)
        ratios = [fed / alone for alone, fed in zip(rows[False], rows[True])]
        each = [spread(rows[False]), spread(rows[True]), spread(ratios), *(f"{statistics.median(part[fed]):.0f}" for part in (speeds, memory) for fed in rows)]
        print(f"| {kind} | {len(ratios)} | {' | '.join(each)} | {'yes' if len(digests) == 1 else 'NO'} |", flush=True)
        if before:
            shares, gains = ([one / other for one, other in zip(*pair)] for pair in ((before, rows[False]), (rows[True], before)))
            print(f"| {kind}, before | {len(before)} | | {spread(before)} | {spread(shares)} | | | | |", end=" ")
            print(f"now / before: {spread(gains)} |", flush=True)
    print(f"\n{time.strftime('%Y-%m-%d %H:%M')}, load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores; {pictures} JPEGs; batch {arguments.batch}; {arguments.workers} workers")


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})"


if __name__ == "__main__":
    main()
