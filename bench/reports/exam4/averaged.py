"""Losses are gathered from all ranks and read in each step (allenai/OLMo#279)."""

import os

import numpy
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from common import FIX, done, over
from stoker.emulated import Device

LOG_INTERVAL = 10


class MeanMetric:
    """The mean of a value over ranks and steps."""

    def __init__(self):
        self.total, self.count = torch.zeros(1), torch.zeros(1)

    def update(self, value):
        self.total += value
        self.count += 1

    def compute(self):
        dist.barrier()
        states = [[torch.zeros(1) for _ in range(dist.get_world_size())] for _ in range(2)]
        for gathered, state in zip(states, (self.total, self.count), strict=True):
            dist.all_gather(gathered, state)
        return float(torch.cat(states[0]).sum() / torch.cat(states[1]).sum())


class MemMapDataset:
    """Tokens in one long array."""

    def __init__(self, rank, sequence=2048):
        self.tokens, self.sequence = numpy.zeros(4_000_000, numpy.uint16), sequence
        self.draw = numpy.random.default_rng(rank)

    def batch(self, size=32):
        starts = self.draw.integers(0, len(self.tokens) - self.sequence, size)
        ids = torch.stack([torch.from_numpy(self.tokens[s : s + self.sequence].astype(numpy.int64)) for s in starts])
        document = (ids == 0).cumsum(1)
        return ids, document


class OLMo(torch.nn.Module):
    """A few layers; their arithmetic is the device's."""

    def __init__(self, gpu, layers=24):
        super().__init__()
        self.gpu = gpu
        self.blocks = torch.nn.ModuleList(torch.nn.Sequential(torch.nn.LayerNorm(8), torch.nn.Linear(8, 8)) for _ in range(layers))

    def forward(self, ids):
        x = torch.ones(1, 8)
        for block in self.blocks:
            for name in ("norm", "attention", "mlp"):
                self.gpu.launch(0.0001, name)
            x = x + block(x)
        return x.mean()


class Trainer:
    def __init__(self, rank, gpu):
        self.rank, self.gpu, self.model = rank, gpu, OLMo(gpu)
        self.optim = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.ce_train_loss_metric, self.data, self.canceled = MeanMetric(), MemMapDataset(rank), False

    def train_step(self, step):
        ids, _ = self.data.batch()
        self.gpu.copy(ids.nbytes)
        self.optim.zero_grad()
        loss = self.model(ids)
        loss.backward()
        self.gpu.launch(0.009, "backward, reduce scatter")
        self.optim.step()
        self.gpu.launch(0.001, "adamw")
        if not FIX or step % LOG_INTERVAL == 0:
            self.ce_train_loss_metric.update(self.gpu.item())
            return {"train/CrossEntropyLoss": self.ce_train_loss_metric.compute()}
        return {}

    def check_if_cancelled(self, step):
        if FIX and step % LOG_INTERVAL:
            return
        flag = torch.tensor([float(over())])
        dist.broadcast(flag, 0)
        self.canceled = bool(flag)

    def fit(self):
        step = samples = 0
        while not self.canceled:
            metrics = self.train_step(step)
            samples += 32
            if step % LOG_INTERVAL == 0 and self.rank == 0:
                print(f"step {step}: {metrics}", flush=True)
            self.check_if_cancelled(step)
            step += 1
        return samples


def work(rank, world):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29517")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    gpu = Device(index=rank, spin=False)
    over()
    samples = Trainer(rank, gpu).fit()
    if rank == 0:
        done(gpu, samples * world)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(2,), nprocs=2)
