#!/usr/bin/env python3
"""Loops that lose most of their time between steps or in the hand-over of batches, on an emulated device.

    python beside.py evaluation --seconds 20

testdata/cases has recordings of them:

    STOKER_EMULATE=1 bin/stoker observe -o run.jsonl.gz -- python bench/labelled/beside.py evaluation
"""

import argparse
import gc
import random
import subprocess
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Sampler, TensorDataset

from stoker.emulated import Device

warnings.filterwarnings("ignore", ".*suggested max number of worker.*")
UNTIL = 0.0


def goes_on() -> bool:
    return time.monotonic() < UNTIL


class Rows(Dataset):
    """Samples that sleep; one in so many sleeps for two seconds."""

    def __init__(self, rows: int, seconds: float, slow: int = 0) -> None:
        self.rows, self.seconds, self.slow = rows, seconds, slow

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, row: int) -> torch.Tensor:
        time.sleep(2.0 if self.slow and row % self.slow == 7 else self.seconds)
        return torch.zeros(64)


class Boxes(Dataset):
    """A picture with ten small tensors."""

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, row: int) -> tuple[torch.Tensor, list[torch.Tensor]]:
        return torch.zeros(3, 32, 32), [torch.zeros(4) for _ in range(10)]


def keep_apart(samples: list) -> tuple[torch.Tensor, list]:
    return torch.stack([picture for picture, _ in samples]), [boxes for _, boxes in samples]


def train(loader: DataLoader, seconds: float, after: Callable[[int], object] = lambda step: None, wait: bool = False) -> None:
    device, step = Device(), 0
    while goes_on():
        for batch in loader:
            tensor = batch if isinstance(batch, torch.Tensor) else batch[0]
            device.copy(tensor.nbytes, pinned=True, non_blocking=True)
            device.launch(seconds, "step")
            step += 1
            if wait:
                device.item()
            after(step)
            if not goes_on():
                break
    device.synchronize(spin=False)


def easy() -> DataLoader:
    return DataLoader(Rows(10**6, 0), 8, num_workers=1, pin_memory=True)


def evaluation() -> None:
    """Evaluation loads in the main process and takes most of the time."""
    loader = DataLoader(Rows(400, 0.004), 8, num_workers=4, pin_memory=True, persistent_workers=True)
    held_out = DataLoader(Rows(400, 0.004), 8, pin_memory=True)
    model, device = torch.nn.Linear(4, 4), Device()
    while goes_on():
        model.train()
        for batch in loader:
            device.copy(batch.nbytes, pinned=True, non_blocking=True)
            device.launch(0.010, "step")
        model.eval()
        with torch.no_grad():
            for batch in held_out:
                device.launch(0.004, "forward")
                device.item()
                if not goes_on():
                    break


def saving() -> None:
    """A checkpoint every five steps."""
    state = {"weights": torch.zeros(20_000_000)}
    with tempfile.NamedTemporaryFile() as file:
        train(easy(), 0.010, lambda step: step % 5 or torch.save(state, file.name))


def uploads() -> None:
    """An answer is waited for every ten steps."""

    def upload_metrics(step: int) -> None:
        if step % 10 == 0:
            time.sleep(0.2)

    train(easy(), 0.010, upload_metrics)


def programs() -> None:
    """Another program is asked in each step."""
    train(easy(), 0.010, lambda step: subprocess.run(["sleep", "0.03"], check=False))


def garbage() -> None:
    """Garbage is collected in each step, while many objects exist."""
    objects = [{"path": f"{i}.png", "boxes": [(i, i)]} for i in range(100_000)]
    train(easy(), 0.010, lambda step: gc.collect())
    del objects


def reads() -> None:
    """The loss is read in each step, and the host then works for half a step."""
    train(easy(), 0.012, lambda step: time.sleep(0.006), wait=True)


def tensors() -> None:
    """A batch of 321 tensors."""
    train(DataLoader(Boxes(), 32, num_workers=2, collate_fn=keep_apart), 0.008)


def slow() -> None:
    """One sample of 200 takes two seconds."""
    train(DataLoader(Rows(10**6, 0.002, 200), 8, shuffle=True, num_workers=4, pin_memory=True), 0.015)


def memory() -> None:
    """Rows of tensors in memory, one by one."""
    data = TensorDataset(torch.zeros(200_000, 32), torch.zeros(200_000))
    train(DataLoader(data, 256, shuffle=True, num_workers=2, pin_memory=True), 0.001)


def epochs() -> None:
    """Five batches an epoch, for which eight workers are started each time."""
    train(DataLoader(Rows(5 * 128, 0.01), 128, num_workers=8, pin_memory=True, persistent_workers=True), 0.100)


def lock() -> None:
    """A thread holds a lock most of the time, and each step wants it."""
    guard = threading.Lock()

    def hold() -> None:
        while goes_on():
            with guard:
                time.sleep(0.03)
            time.sleep(0.001)

    def take_lock(step: int) -> None:
        with guard:
            pass

    threading.Thread(target=hold, daemon=True).start()
    train(easy(), 0.010, take_lock)


class Scenes(Dataset):
    """Lists of objects, which have to be pickled."""

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, row: int) -> tuple[torch.Tensor, list[dict]]:
        return torch.zeros(64), [{"name": f"box {k}", "at": (k, k + 1), "score": k / 7} for k in range(300)]


def objects() -> None:
    """A batch of ten thousand objects."""
    train(DataLoader(Scenes(), 32, num_workers=2, collate_fn=keep_apart), 0.005)


class Distances(Dataset):
    """Samples that are computed by PyTorch's own threads."""

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, row: int) -> torch.Tensor:
        points = torch.rand(512, 3)
        return torch.exp(-torch.cdist(points, points)).sum(0)


def threads() -> None:
    """Each worker computes with 16 threads."""
    train(DataLoader(Distances(), 16, num_workers=2, worker_init_fn=lambda _: torch.set_num_threads(16)), 0.008)


class Arrays(Dataset):
    """Rows of arrays in memory."""

    def __init__(self) -> None:
        self.x, self.y = np.zeros((200_000, 32), np.float32), np.zeros(200_000)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, row: int) -> tuple[np.ndarray, np.float64]:
        return self.x[row], self.y[row]


def arrays() -> None:
    """The program's data set returns rows of arrays one by one, with num_workers=0."""
    train(DataLoader(Arrays(), 1024, shuffle=True), 0.002)


def anew() -> None:
    """The loader and its workers are made again in each epoch."""
    device = Device()
    while goes_on():
        for batch in DataLoader(Rows(256, 0), 8, num_workers=3, pin_memory=True):
            device.copy(batch.nbytes, pinned=True, non_blocking=True)
            device.launch(0.010, "step")
    device.synchronize(spin=False)


class ByLength(Sampler):
    """Sorts all samples of an epoch by length, in Python."""

    def __init__(self, rows: int) -> None:
        self.lengths = [random.randrange(500) for _ in range(rows)]

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        order = sorted(range(len(self.lengths)), key=lambda row: (self.lengths[row] // 10, random.random()))
        return iter(order[:2400])


def sampler() -> None:
    """The sampler needs longer than an epoch of the device."""
    train(DataLoader(Rows(300_000, 0), 16, sampler=ByLength(300_000), num_workers=1, persistent_workers=True), 0.010)


class Records(Dataset):
    """A list of dictionaries: a worker that reads one writes its count of references, and copies its page."""

    def __init__(self, rows: int) -> None:
        self.rows = [{"path": f"images/{row:09d}.jpg", "label": [row, row + 1], "text": f"picture {row}"} for row in range(rows)]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: int) -> torch.Tensor:
        record = self.rows[row]
        return torch.tensor([record["label"][0], len(record["path"]), len(record["text"])])


def copies() -> None:
    """Each of four workers copies the records that it was forked with."""
    train(DataLoader(Records(900_000), 512, shuffle=True, num_workers=4, persistent_workers=True), 0.010)


def each() -> None:
    """A new iterator with new workers for each batch."""
    device, loader = Device(), DataLoader(Rows(2000, 0), 8, shuffle=True, num_workers=2)
    while goes_on():
        batch = next(iter(loader))
        device.copy(batch.nbytes, pinned=True, non_blocking=True)
        device.launch(0.010, "step")
    device.synchronize(spin=False)


def ending() -> None:
    """The loop ends while its workers are busy with long batches."""
    device = Device()
    for step, batch in enumerate(DataLoader(Rows(2000, 0.01, 1000), 8, num_workers=2, prefetch_factor=2)):
        device.copy(batch.nbytes, pinned=True, non_blocking=True)
        device.launch(0.030, "step")
        device.item()
        if step >= 200:
            break
    rest = iter(DataLoader(Rows(100, 1.0), 30, num_workers=3))
    time.sleep(1)
    del rest


KINDS = {
    "evaluation": evaluation, "saving": saving, "uploads": uploads, "programs": programs, "garbage": garbage,
    "reads": reads, "tensors": tensors, "slow": slow, "memory": memory, "epochs": epochs,
    "lock": lock, "objects": objects, "threads": threads, "arrays": arrays, "anew": anew, "sampler": sampler,
    "copies": copies, "each": each, "ending": ending,
}  # fmt: skip

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("--seconds", type=float, default=20)
    asked = parser.parse_args()
    UNTIL = time.monotonic() + asked.seconds
    KINDS[asked.kind]()
