"""A model that moves a robot, on two ranks, with gradients of some small batches added up."""

# https://github.com/baidu-baige/LoongForge/pull/163
# Cause: no_sync() stands around backward() alone, where it does nothing: gradients are reduced at each small batch.
# Fix: have forward and backward of all small batches but the last inside no_sync(): one all-reduce a step.
# Line: 56, no_sync in _backward_loss (the forward at 63 is outside).

import contextlib
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from common import FIX, done, over
from stoker.emulated import Device
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

ACCUMULATE = 8


class Episodes(Dataset):
    """What the cameras saw, what was said, and how the arm moved."""

    def __len__(self):
        return 1600

    def __getitem__(self, i):
        return torch.full((64,), i / 1600), torch.zeros(7)


class Policy(nn.Module):
    """Large tables of weights, of which the host does little: the work is the GPU's."""

    def __init__(self, gpu, weights=4_000_000):
        super().__init__()
        self.gpu, self.body, self.head = gpu, nn.Parameter(torch.zeros(weights)), nn.Linear(64, 7)

    def forward(self, seen, moved):
        self.gpu.copy(seen.nbytes + moved.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.01, "vision, language, action")
        return (self.head(seen) - moved).pow(2).mean() + self.body.sum() * 1e-9


class Trainer:
    def __init__(self, gpu, model):
        self.gpu, self.model = gpu, model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def _grad_sync_ctx(self, last):
        """For forward and backward."""
        return contextlib.nullcontext() if last or not FIX else self.model.no_sync()

    def _backward_loss(self, loss, last):
        with contextlib.nullcontext() if last or FIX else self.model.no_sync():
            self.gpu.launch(0.02, "backward")
            self.gpu.synchronize()  # gradients are ready for the others
            loss.backward()

    def micro_step(self, seen, moved, last):
        with self._grad_sync_ctx(last):
            loss = self.model(seen, moved)
            self._backward_loss(loss / ACCUMULATE, last)
        return loss

    def update(self):
        self.gpu.launch(0.004, "adamw")
        self.optimizer.step()
        self.optimizer.zero_grad()


def work(rank, world):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29561")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    gpu = Device(index=rank, spin=False)
    trainer = Trainer(gpu, DistributedDataParallel(Policy(gpu)))
    loader, samples, micro, going = DataLoader(Episodes(), 4, shuffle=True, pin_memory=True), 0, 0, torch.ones(1)
    over()
    while going:
        for seen, moved in loader:
            micro += 1
            last = micro % ACCUMULATE == 0
            loss = trainer.micro_step(seen, moved, last)
            samples += len(seen)
            if last:
                trainer.update()
                going.fill_(float(not over()))
                dist.broadcast(going, 0)
                if not going:
                    break
                if rank == 0 and micro % 40 == 0:
                    print(f"step {micro // ACCUMULATE}: loss {float(loss):.4f}", flush=True)
    if rank == 0:
        done(gpu, samples * world)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(2,), nprocs=2)
