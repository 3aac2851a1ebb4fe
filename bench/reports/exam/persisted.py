"""The loop stops until each checkpoint is written (pytorch/torchtitan#302)."""

import os
import tempfile
import threading
import time

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Tokens(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        return torch.zeros(512, dtype=torch.long)


class CheckpointManager:
    def __init__(self, folder, interval=30):
        self.folder, self.interval, self.writer = folder, interval, None
        self.states = {f"layers.{n}.weight": torch.zeros(1 << 20) for n in range(14)}
        self.staged = {name: torch.zeros_like(weight) for name, weight in self.states.items()} if FIX else None

    def write(self, states, step):
        path = os.path.join(self.folder, f"step-{step % 2}.pt")
        torch.save(states, path)
        with open(path, "rb") as file:
            os.fsync(file.fileno())
        time.sleep(0.4)  # storage that all nodes write to

    def save(self, gpu, step):
        if step % self.interval:
            return
        gpu.synchronize(spin=False)
        if not FIX:
            self.write(self.states, step)
            return
        if self.writer:
            self.writer.join()
        for name, weight in self.states.items():
            self.staged[name].copy_(weight)
        self.writer = threading.Thread(target=self.write, args=(self.staged, step))
        self.writer.start()


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        gpu, samples, checkpoint = Device(spin=False), 0, CheckpointManager(folder)
        loader = DataLoader(Tokens(), batch_size=8, shuffle=True, num_workers=1, pin_memory=True)
        for step, batch in enumerate(loader, 1):
            gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.02, "step")
            samples += len(batch)
            checkpoint.save(gpu, step)
            if over():
                break
        done(gpu, samples)
        if checkpoint.writer:
            checkpoint.writer.join()


if __name__ == "__main__":
    main()
