"""A small language model learns to tell stories on two ranks; from time to time its loss is estimated."""

# https://github.com/karpathy/nanoGPT/pull/356

import os
import warnings

import numpy
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from common import FIX, done, over
from stoker.emulated import Device
from torch.nn.parallel import DistributedDataParallel

BLOCK, BATCH, EVAL_INTERVAL, EVAL_ITERS, PARAMETERS = 256, 12, 20, 160, 200_000
PORT = 29500 + os.getpid() % 300


class Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weight, gpu):
        ctx.gpu, ctx.shape = gpu, weight.shape
        return weight[:1].sum()

    @staticmethod
    def backward(ctx, gradient):
        ctx.gpu.launch(0.0153, "backward")
        ctx.gpu.item()
        return gradient.expand(ctx.shape), None


class GPT(torch.nn.Module):
    """The device's work is emulated, weights and what ranks exchange are real."""

    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.weight = gpu, torch.nn.Parameter(torch.zeros(PARAMETERS))

    def forward(self, x):
        self.gpu.copy(x.nbytes, pinned=True, non_blocking=True)
        for layer in range(6):
            self.gpu.launch(0.0013, f"block {layer}")
        return Backward.apply(self.weight, self.gpu)


class Loop:
    def __init__(self, rank, world, gpu):
        self.rank, self.world, self.gpu = rank, world, gpu
        self.model = DistributedDataParallel(GPT(gpu))
        self.data = numpy.random.default_rng(0).integers(0, 50304, 2_000_000).astype(numpy.uint16)
        self.draw = numpy.random.default_rng(1337 + rank)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)

    def get_batch(self):
        starts = self.draw.integers(0, len(self.data) - BLOCK, BATCH)
        return torch.from_numpy(numpy.stack([self.data[i : i + BLOCK].astype(numpy.int64) for i in starts]))

    @torch.no_grad()
    def estimate_loss(self, iterations):
        losses = {}
        for split in ("train", "val"):
            values = torch.zeros(iterations)
            for k in range(iterations):
                self.model.module(self.get_batch())
                values[k] = self.gpu.item()
            losses[split] = values.mean()
        return losses

    def evaluate(self, step):
        if FIX:
            losses = self.estimate_loss(EVAL_ITERS // self.world)
            dist.barrier()
        elif self.rank == 0:
            losses = self.estimate_loss(EVAL_ITERS)
        if self.rank == 0:
            print(f"step {step}: train loss {losses['train']:.4f}, val loss {losses['val']:.4f}", flush=True)

    def train(self):
        going, step, samples = torch.ones(1), 0, 0
        over()
        while going:
            if step % EVAL_INTERVAL == 0:
                self.evaluate(step)
                going.fill_(float(not over()))
                dist.broadcast(going, 0)
            self.model(self.get_batch()).backward()
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=False)
            self.gpu.launch(0.0011, "adamw")
            step, samples = step + 1, samples + BATCH * self.world
        return samples


def train(rank, world, port):
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    os.environ.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
    dist.init_process_group("gloo", rank=rank, world_size=world)
    gpu = Device(index=rank, spin=False)
    samples = Loop(rank, world, gpu).train()
    if rank == 0:
        done(gpu, samples)
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    mp.spawn(train, args=(2, PORT), nprocs=2)
