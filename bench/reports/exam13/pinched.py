"""Pictures are ranked by a network; the records they come from travel with each batch."""

# https://github.com/pytorch/pytorch/pull/97737

import threading
from collections.abc import Mapping, Sequence
from queue import Empty, Full, Queue

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

BATCH, SIDE, RECORD, LAYERS = 16, 64, 1800, 24


class Records(Dataset):
    def __init__(self, count=40_000):
        self.image, self.count = torch.zeros(3, SIDE, SIDE, dtype=torch.uint8), count
        self.record = bytes(range(200)) * 9

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return {"image": self.image, "record": self.record[:RECORD]}


def collate(records):
    return {"image": torch.stack([r["image"] for r in records]), "record": [r["record"] for r in records]}


def pin_memory(data):
    """Tensors of a batch in pinned memory, whatever the batch looks like."""
    if isinstance(data, torch.Tensor):
        return data.clone()
    if isinstance(data, (str, bytes) if FIX else str):
        return data
    if isinstance(data, Mapping):
        return {key: pin_memory(sample) for key, sample in data.items()}
    if isinstance(data, Sequence):
        return type(data)([pin_memory(sample) for sample in data])
    return data


class PinnedLoader:
    """Takes batches from the workers and pins them, in a thread."""

    def __init__(self, loader):
        self.loader, self.batches, self.done = loader, Queue(2), threading.Event()
        self.thread = threading.Thread(target=self._pin_memory_loop, name="pin memory", daemon=True)
        self.thread.start()

    def _pin_memory_loop(self):
        while True:
            for data in self.loader:
                pinned = pin_memory(data)
                while not self.done.is_set():
                    try:
                        self.batches.put(pinned, timeout=0.2)
                        break
                    except Full:
                        continue
                if self.done.is_set():
                    return

    def __iter__(self):
        while not self.done.is_set():
            try:
                yield self.batches.get(timeout=1)
            except Empty:
                continue

    def close(self):
        self.done.set()
        self.thread.join()


class Ranker:
    def __init__(self, gpu):
        self.gpu, self.scale = gpu, torch.ones(32)

    def train_step(self, images):
        self.gpu.copy(images.nbytes, pinned=True, non_blocking=True)
        for layer in range(LAYERS):
            self.scale = torch.relu(self.scale * 0.99 + 0.01)
            self.gpu.launch(0.00042, f"block {layer}")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=9 << 30), 0, 0
    model = Ranker(gpu)
    options = {"num_workers": 1, "collate_fn": collate, "persistent_workers": True, "shuffle": True}
    loader = PinnedLoader(DataLoader(Records(), BATCH, **options))
    over()
    for batch in loader:
        model.train_step(batch["image"])
        step, samples = step + 1, samples + len(batch["image"])
        if step % 50 == 0:
            print(f"step {step} loss {gpu.item():.4f}", flush=True)
        if over():
            break
    loader.close()
    done(gpu, samples)


if __name__ == "__main__":
    main()
