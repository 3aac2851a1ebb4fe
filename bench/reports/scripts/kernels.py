"""The kernel of a resampler is computed again for each sample (pytorch/audio#1499, pytorch/audio#2359)."""

import math

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


def sinc_kernel(orig=441, new=40, width=6):
    rows = []
    for phase in range(new):
        t = torch.arange(-width, width + orig, 8) / orig - phase / new
        t = t.clamp(-width, width) * math.pi
        rows.append(torch.where(t == 0, torch.ones(()), torch.sin(t) / t))
    return torch.stack(rows)


class Speech(Dataset):
    def __init__(self):
        self.kernel = sinc_kernel() if FIX else None

    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        wave = torch.rand(20, 57)
        kernel = self.kernel if FIX else sinc_kernel()
        return wave @ kernel.T


def start_worker(_):
    torch.set_num_threads(1)


def main():
    gpu = Device()
    loader = DataLoader(Speech(), batch_size=8, shuffle=True, num_workers=1, pin_memory=True, worker_init_fn=start_worker)
    samples = 0
    for batch in loader:
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.012, "step")
        samples += len(batch)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
