"""A network that makes sound sample by sample, saved on its way."""

# https://github.com/ibab/tensorflow-wavenet/pull/101
# Cause: a checkpoint is written every 50 steps, which costs training time.
# Fix: make the steps between checkpoints an argument, and save far less often.
# Line: 46 to 48, torch.save in save (every 50 steps by line 17).

import os
import tempfile

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch import nn
from torch.utils.data import DataLoader, Dataset

CHECKPOINT_EVERY = 1000 if FIX else 50


class Pieces(Dataset):
    def __len__(self):
        return 2000

    def __getitem__(self, i):
        return torch.full((16_000,), i % 256)


class WaveNet(nn.Module):
    def __init__(self, layers=20, width=640):
        super().__init__()
        self.filters = nn.ModuleList(nn.Conv1d(width, width, 2) for _ in range(layers))

    def step(self, gpu, wave):
        gpu.copy(wave.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.007, "dilated layers")
        gpu.launch(0.012, "backward, adam")


class Saver:
    def __init__(self, folder, keep=2):
        self.folder, self.keep, self.written = folder, keep, []

    def save(self, model, optimizer, step):
        path = os.path.join(self.folder, f"model.ckpt-{step}")
        with open(path, "wb") as file:
            torch.save({"model": model.state_dict(), "step": step, "optimizer": optimizer}, file)
            file.flush()
            os.fsync(file.fileno())
        self.written.append(path)
        while len(self.written) > self.keep:
            os.unlink(self.written.pop(0))


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    model = WaveNet()
    moments = {name: p.detach().clone() for name, p in model.named_parameters()}
    loader = DataLoader(Pieces(), 1, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    with tempfile.TemporaryDirectory() as folder:
        saver = Saver(folder)
        while not over():
            for wave in loader:
                model.step(gpu, wave)
                step, samples = step + 1, samples + len(wave)
                if step % 10 == 0:
                    loss = gpu.item()
                if step % CHECKPOINT_EVERY == 0:
                    print(f"step {step}: loss {loss:.3f}, saving", flush=True)
                    saver.save(model, moments, step)
                if over():
                    break
    done(gpu, samples)


if __name__ == "__main__":
    main()
