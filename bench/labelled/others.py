#!/usr/bin/env python3
"""Loops whose input comes from elsewhere than one DataLoader, on an emulated device; what keeps it waiting is given.

    python others.py generator --seconds 12

testdata/cases has recordings of them, made by hand:

    STOKER_EMULATE=1 bin/stoker observe -o run.jsonl.gz -- python bench/labelled/others.py generator
"""

import argparse
import json
import queue
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from loop import PIECE, burn
from torch.utils.data import DataLoader, Dataset

from stoker.emulated import Device

UNTIL = 0.0
PARAMETER = torch.nn.Parameter(torch.zeros(1))
OPTIMIZER = torch.optim.SGD([PARAMETER], lr=0.1)
DEVICE = Device()


class Slow(Dataset):
    """Samples that sleep."""

    def __init__(self, samples: int, seconds: float) -> None:
        self.samples, self.seconds = samples, seconds

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(self.seconds)
        return torch.zeros(8)


def goes_on() -> bool:
    return time.monotonic() < UNTIL


def step(device_s: float) -> None:
    """One training step, with its loss read."""
    DEVICE.launch(device_s, "step")
    DEVICE.item()
    PARAMETER.grad = torch.ones(1)
    OPTIMIZER.step()


def evaluation() -> None:
    """Trains over one loader and evaluates in the middle over a slower one; gradients are off around the model alone."""
    train, evaluate = DataLoader(Slow(100_000, 0.0022), 8, num_workers=1), DataLoader(Slow(40, 0.008), 8)
    for n, _ in enumerate(train):
        step(0.022)
        if n % 25 == 24:
            for _ in evaluate:
                with torch.no_grad():
                    DEVICE.launch(0.004, "evaluate")
                    DEVICE.item()
        if not goes_on():
            return


def generator() -> None:
    """A Python generator makes the batches in the launching thread."""

    def batches() -> Iterator[torch.Tensor]:
        while goes_on():
            burn(0.02)
            yield torch.zeros(8)

    for _ in batches():
        step(0.007)


def prefetch() -> None:
    """A thread of the program's own makes the batches, ahead."""
    ready: queue.Queue[torch.Tensor] = queue.Queue(4)

    def fill() -> None:
        while goes_on():
            burn(0.03)
            ready.put(torch.zeros(8))

    threading.Thread(target=fill, daemon=True).start()
    while goes_on():
        ready.get()
        step(0.008)


def get_batch() -> None:
    """nanoGPT's get_batch, from a memory map."""
    path = Path(f"/tmp/stoker-tokens-{time.monotonic_ns()}")
    np.random.default_rng(0).integers(0, 50_000, 4_000_000, dtype=np.uint16).tofile(path)
    tokens = np.memmap(path, dtype=np.uint16, mode="r")
    path.unlink()
    while goes_on():
        for first in (0, 1):
            at = torch.randint(len(tokens) - 1025, (480,)).tolist()
            torch.stack([torch.from_numpy(tokens[i + first : i + first + 1024].astype(np.int64)) for i in at])
        step(0.004)


def inference() -> None:
    """Batch inference over what the launching thread makes: no DataLoader, no optimizer, nothing that the hook tells of."""
    with torch.inference_mode():
        while goes_on():
            burn(0.02)
            DEVICE.launch(0.005, "infer")
            DEVICE.item()


def server() -> None:
    """Answers requests, of which there are few."""
    ours, theirs = socket.socketpair()

    def ask() -> None:
        while goes_on():
            time.sleep(0.05)
            theirs.send(b"?")

    threading.Thread(target=ask, daemon=True).start()
    with torch.inference_mode():
        while goes_on():
            ours.recv(1)
            DEVICE.launch(0.005, "answer")
            DEVICE.item()


def simulator() -> None:
    """A simulator plays between the steps."""
    while goes_on():
        for _ in range(8):
            burn(0.002)
            DEVICE.launch(0.0005, "act")
            DEVICE.item()
        step(0.004)


def collate() -> None:
    """collate_fn tokenises on the fly, in its own threads, as tokenizers does."""
    threads = ThreadPoolExecutor(2)

    def tokenise(text: str) -> int:
        until = time.thread_time() + 0.0025
        while time.thread_time() < until:
            zlib.crc32(PIECE)
        return len(text)

    def together(texts: list[str]) -> torch.Tensor:
        return torch.tensor(list(threads.map(tokenise, texts)))

    for _ in DataLoader(["a text"] * 1_000_000, 16, collate_fn=together):
        step(0.012)
        if not goes_on():
            return


LOOPS: dict[str, Callable[[], None]] = {
    loop.__name__.replace("_", "-"): loop for loop in (evaluation, generator, prefetch, get_batch, inference, server, simulator, collate)
}


def main() -> None:
    global UNTIL
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("loop", choices=sorted(LOOPS))
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--truth", type=Path, metavar="FILE", help="write when the device was busy")
    arguments = parser.parse_args()
    UNTIL = time.monotonic() + arguments.seconds
    LOOPS[arguments.loop]()
    if arguments.truth:
        busy = [(round(start * 1e9), round(end * 1e9), kind) for start, end, kind, _ in DEVICE.busy()]
        arguments.truth.write_text(json.dumps({"steps": [], "busy": busy}))


if __name__ == "__main__":
    main()
