"""Each worker computes with as many threads as a large machine has cores (transferable-samplers#12, mmdetection#6867)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Conformations(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        x = torch.rand(64, 3)
        rotation, _ = torch.linalg.qr(torch.rand(3, 3))
        for _ in range(4):
            x = x @ rotation
        distances = torch.cdist(x.repeat(8, 1), x.repeat(8, 1))
        return torch.exp(-distances).sum(0)


def start_worker(_):
    torch.set_num_threads(1 if FIX else 16)


def main():
    gpu = Device()
    loader = DataLoader(Conformations(), batch_size=16, num_workers=2, worker_init_fn=start_worker, pin_memory=True)
    samples = 0
    for batch in loader:
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.015, "step")
        samples += len(batch)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
