#!/usr/bin/env python3
"""A training loop with a known bottleneck, because the cost of its parts is given: real PyTorch loading, an emulated device.

    python loop.py --load-ms 40 --launch-ms 10 --device-ms 60 --run-ahead 2

A step asks the DataLoader for a batch, copies it to the device, spends
--launch-ms of core time and queues --device-ms of device work. With --truth
FILE the loop writes at its end when it asked for each batch, when it got it, and
when the device was busy, all on CLOCK_MONOTONIC. labelled.py runs it and compares
this truth with a verdict.
"""

import argparse
import json
import os
import queue
import sys
import threading
import time
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision import datasets, transforms

try:
    from stoker.emulated import Device
except ImportError:  # run from a checkout: the client is in python/
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
    from stoker.emulated import Device

#: Samples in an epoch: more than any run consumes, so that no run has a boundary by accident.
ENDLESS = 1_000_000
#: Checksummed per piece: about 10 us, and large enough that zlib lets go of the interpreter lock.
PIECE = bytes(16 << 10)


def burn(seconds: float) -> None:
    """Use this much core time of this thread. By wall time, the work would shrink if cores are short."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        zlib.crc32(PIECE)


class Costly(Dataset):
    """Samples that take a given mean time, as core time or asleep. One in slow_every takes slow_times as long as the others."""

    def __init__(self, seconds: float, asleep: bool, samples: int = ENDLESS, slow_every: int = 1, slow_times: float = 1) -> None:
        self.samples = samples
        self.slow_every, self.slow_times = slow_every, slow_times
        self.seconds = seconds * slow_every / (slow_every - 1 + slow_times)
        self.spend = time.sleep if asleep else burn

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> torch.Tensor:
        if self.seconds:
            self.spend(self.seconds * (1 if index % self.slow_every else self.slow_times))
        return torch.full((3, 32, 32), index % 256, dtype=torch.float32)


class Files(Dataset):
    """Samples that are files, read completely, with a little core time each."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.paths = sorted(path for path in folder.iterdir() if path.is_file())
        if not self.paths:
            sys.exit(f"loop: error: no files in {folder}")
        self.seconds = seconds

    def __len__(self) -> int:
        return ENDLESS // len(self.paths) * len(self.paths)

    def __getitem__(self, index: int) -> torch.Tensor:
        data = self.paths[index % len(self.paths)].read_bytes()
        burn(self.seconds)
        return torch.frombuffer(bytearray(data[:12288]), dtype=torch.uint8)


class Images(Dataset):
    """JPEGs, decoded and cropped, again and again."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            sys.exit(f"loop: error: no folder {folder}: make it with examples/imagefolder/make_images.py")
        transform = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor()])
        self.images = datasets.ImageFolder(folder, transform)

    def __len__(self) -> int:
        return ENDLESS

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.images[index % len(self.images)][0]


class Once:
    """A collate function that fills one buffer and hands it out again: a large batch at no cost."""

    def __init__(self, nbytes: int) -> None:
        self.buffer = torch.zeros(nbytes // 4)

    def __call__(self, samples: list[torch.Tensor]) -> torch.Tensor:
        self.buffer[: len(samples)] = torch.stack([sample.view(-1)[0] for sample in samples])
        return self.buffer


def make_loader(arguments: argparse.Namespace) -> DataLoader:
    seconds = arguments.load_ms / 1e3 / arguments.batch
    if arguments.load_kind == "jpeg":
        data: Dataset = Images(arguments.data)
    elif arguments.load_kind == "disk":
        data = Files(arguments.data, seconds)
    else:
        data = Costly(seconds, arguments.load_kind == "sleep", arguments.epoch, arguments.slow_every, arguments.slow_times)
    return DataLoader(
        data,
        batch_size=arguments.batch,
        # In the order of their names, files are each read once before any is read again.
        shuffle=arguments.load_kind != "disk",
        num_workers=arguments.workers,
        prefetch_factor=arguments.prefetch_factor if arguments.workers else None,
        persistent_workers=arguments.persistent_workers and arguments.workers > 0,
        pin_memory=arguments.pin,
        in_order=arguments.in_order,
        collate_fn=Once(arguments.pageable_mb * 1_000_000) if arguments.pageable_mb else None,
    )


class EmulatedStep:
    """Launches a step on the emulated device."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.device = Device(run_ahead=arguments.run_ahead, spin=arguments.wait == "spin")

    def __call__(self, batch: torch.Tensor) -> None:
        settings = self.arguments
        if settings.copy or settings.pageable_mb:
            self.device.copy(batch.nbytes, pinned=settings.pin, non_blocking=settings.non_blocking)
        for _ in range(settings.copies):
            self.device.copy(round(settings.copies_mb * 1e6), pinned=settings.pin, non_blocking=settings.non_blocking)
        for n in range(settings.launches):
            burn(settings.launch_ms / 1e3 / settings.launches)
            self.device.launch(settings.device_ms / 1e3 / settings.launches, "step")
            if settings.items and (n + 1) % max(1, settings.launches // settings.items) == 0:
                self.device.item()
        if settings.item:
            self.device.item()
        if settings.spin_main:
            self.device.synchronize(spin=True)

    def busy(self) -> list[tuple[int, int, str]]:
        """Wait for the queue to end, and return when the device was busy, in ns."""
        self.device.synchronize(spin=False)
        return [(round(start * 1e9), round(end * 1e9), kind) for start, end, kind, _ in self.device.busy()]


class CpuStep:
    """Trains a small real network on the CPU, if no device is requested."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.model = nn.Sequential(
            nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(65536, 10)
        )
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-6)
        self.criterion = nn.CrossEntropyLoss()

    def __call__(self, batch: torch.Tensor) -> None:
        loss = self.criterion(self.model(batch / 256), torch.zeros(len(batch), dtype=torch.long))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def busy(self) -> list[tuple[int, int, str]]:
        return []


class Waits:
    """Notes when each batch was requested and when it came, as seen by the loop."""

    def __init__(self, digest: bool) -> None:
        self.pairs: list[tuple[int, int]] = []
        self.digests: list[int] | None = [] if digest else None

    def time_batches(self, batches: Iterable[torch.Tensor]) -> Iterator[torch.Tensor]:
        asked = time.monotonic_ns()
        for batch in batches:
            self.pairs.append((asked, time.monotonic_ns()))
            if self.digests is not None:  # of the first 1/4 MB: 0.1 ms
                self.digests.append(zlib.crc32(memoryview(batch.view(-1)[: 1 << 16].numpy()).cast("B")))
            yield batch
            asked = time.monotonic_ns()


def epochs(loader: DataLoader) -> Iterator[torch.Tensor]:
    """Iterate over the loader again and again."""
    while True:
        yield from loader


def prefetch(batches: Iterable[torch.Tensor], stop: threading.Event) -> Iterator[torch.Tensor]:
    """Iterate in a thread, a few batches ahead."""
    ready: queue.Queue[torch.Tensor] = queue.Queue(maxsize=4)

    def fill() -> None:
        for batch in batches:
            while not stop.is_set():
                try:
                    ready.put(batch, timeout=0.1)
                    break
                except queue.Full:
                    pass
            if stop.is_set():
                return

    threading.Thread(target=fill, name="prefetch", daemon=True).start()
    while not stop.is_set():
        yield ready.get()


def train(arguments: argparse.Namespace) -> dict[str, object]:
    """Run the loop for a while and return its truth."""
    step = CpuStep(arguments) if arguments.cpu_model else EmulatedStep(arguments)
    waits, stop = Waits(arguments.digest), threading.Event()
    torch.manual_seed(0)  # the same order of samples in each run, for pairs of runs
    batches = waits.time_batches(epochs(make_loader(arguments)))
    if arguments.prefetch_thread:
        batches = prefetch(batches, stop)
    start, steps = time.monotonic(), 0
    for batch in batches:
        step(batch)
        steps += 1
        if steps % 100 == 0:
            print(f"step {steps}: {(time.monotonic() - start) / steps * 1e3:.1f} ms per step on the host", flush=True)
        if steps == arguments.steps or time.monotonic() - start >= arguments.seconds:
            break
    ended = time.monotonic()
    stop.set()
    busy = step.busy()
    print(f"{steps} steps in {ended - start:.1f} s on the host" + ("" if arguments.cpu_model else ", emulated device"))
    return {"steps": waits.pairs, "busy": busy, "batches": waits.digests, "epoch_steps": -(-arguments.epoch // arguments.batch)}


def compress(arguments: argparse.Namespace) -> dict[str, object]:
    """Work that is no training: compress text like a log, then rest."""
    until, rounds = time.monotonic() + arguments.seconds, 0
    line = "".join(f"{i} {i * i % 9973}\n" for i in range(200_000)).encode()
    while time.monotonic() < until:
        zlib.compress(line, 6)
        time.sleep(0.2)
        rounds += 1
    print(f"compressed {rounds} times")
    return {"steps": [], "busy": []}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    switch = argparse.BooleanOptionalAction
    loading = parser.add_argument_group("loading")
    loading.add_argument("--load-ms", type=float, default=40, help="cost of a batch (default 40)")
    kinds = ("cpu", "sleep", "disk", "jpeg")
    loading.add_argument("--load-kind", choices=kinds, default="cpu", help="core time, sleep, files read and load-ms of core time, JPEGs decoded")
    loading.add_argument("--data", type=Path, default=Path("data/imagefolder"), help="folder of --load-kind disk and jpeg")
    loading.add_argument("--batch", type=int, default=16)
    loading.add_argument("--workers", type=int, default=0)
    loading.add_argument("--prefetch-factor", type=int)
    loading.add_argument("--persistent-workers", action=switch, default=False)
    loading.add_argument("--in-order", action=switch, default=True)
    loading.add_argument("--epoch", type=int, default=ENDLESS, metavar="SAMPLES", help="length of --load-kind cpu and sleep (default: longer than any run)")
    loading.add_argument("--slow-every", type=int, default=1, metavar="N", help="one sample in N of --load-kind cpu and sleep is a slow one")
    loading.add_argument("--slow-times", type=float, default=1, help="what a slow one costs, in times of the others; the mean stays (default 1)")
    loading.add_argument("--pin", action=switch, default=False, help="pin_memory, and pinned copies to the device")
    loading.add_argument("--pageable-mb", type=int, default=0, help="batches of this many MB, in a buffer used again, copied in each step")
    loading.add_argument("--prefetch-thread", action=switch, default=False, help="iterate in a thread of our own")
    stepping = parser.add_argument_group("stepping")
    stepping.add_argument("--launch-ms", type=float, default=5, help="core time of the host per step (default 5)")
    stepping.add_argument("--device-ms", type=float, default=60, help="device time per step (default 60)")
    stepping.add_argument("--launches", type=int, default=1, help="launches per step, which share its launch-ms and device-ms (default 1)")
    stepping.add_argument("--items", type=int, default=0, help="values that the step reads in its midst (default 0)")
    stepping.add_argument("--copies", type=int, default=0, help="copies per step of what the loop makes itself, pinned with --pin (default 0)")
    stepping.add_argument("--copies-mb", type=float, default=10, help="size of each of them (default 10)")
    stepping.add_argument("--run-ahead", type=int, default=1000, help="launches that may be outstanding (default 1000)")
    stepping.add_argument("--copy", action=switch, default=False, help="copy each batch to the device")
    stepping.add_argument("--non-blocking", action=switch, default=False)
    stepping.add_argument("--item", action=switch, default=False, help="read the loss in every step")
    stepping.add_argument("--spin-main", action=switch, default=False, help="synchronize in every step, spinning")
    stepping.add_argument("--wait", choices=("spin", "sleep"), default="spin", help="how the host waits for the device (default spin, as CUDA does)")
    stepping.add_argument("--cpu-model", action=switch, default=False, help="train a real model on the CPU, without a device")
    stepping.add_argument("--no-training", action="store_true", help="do something else")
    ending = parser.add_argument_group("ending")
    ending.add_argument("--seconds", type=float, default=22)
    ending.add_argument("--steps", type=int)
    ending.add_argument("--digest", action=switch, default=False, help="tell in --truth what each batch held")
    ending.add_argument("--truth", type=Path, metavar="FILE", help="write what really happened")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    truth = compress(arguments) if arguments.no_training else train(arguments)
    if arguments.truth:
        spent = os.times()  # workers that have been waited for are under children
        truth |= {"clock": "CLOCK_MONOTONIC", "unit": "ns", "pid": os.getpid(), "cpu_s": sum(spent[:4])}
        arguments.truth.write_text(json.dumps(truth))


if __name__ == "__main__":
    main()
