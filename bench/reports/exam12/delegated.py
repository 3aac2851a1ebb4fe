"""Experts of a language model lie on two ranks; where each document's tokens went is kept for a while."""

# https://github.com/deepspeedai/DeepSpeed/pull/8451

import gc
import os
import warnings
from collections import deque

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from common import FIX, done, over
from stoker.emulated import Device

DOCUMENTS, TOKENS, EXPERTS, KEPT, PARAMETERS = 500_000, 12_000, 16, 20, 200_000
PORT = 29500 + os.getpid() % 300


class Corpus:
    """Where each document lies."""

    def __init__(self):
        self.index = [{"shard": d // 1000, "span": [d, d + 1]} for d in range(DOCUMENTS)]

    def batch(self, step):
        first = step * 8 % (DOCUMENTS - 8)
        return torch.tensor([document["span"] for document in self.index[first : first + 8]])


class Router:
    """Statistics of the last steps: for each token its expert and its place there."""

    def __init__(self):
        self.history = deque(maxlen=KEPT)

    def record(self, step):
        self.history.append([[token % EXPERTS, step] for token in range(TOKENS)])


class Engine:
    def __init__(self, gpu):
        self.gpu, self.router, self.exchanged = gpu, Router(), torch.zeros(PARAMETERS)

    def forward(self, batch, step):
        self.gpu.copy(batch.nbytes)
        self.gpu.launch(0.006, "attention")
        self.router.record(step)
        self.gpu.item()
        dist.all_reduce(self.exchanged)
        self.gpu.launch(0.009, "experts")

    def backward(self):
        self.gpu.launch(0.018, "backward")
        self.gpu.item()
        dist.all_reduce(self.exchanged)
        self.gpu.launch(0.003, "adamw")


def train(rank, world, port):
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    os.environ.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
    dist.init_process_group("gloo", rank=rank, world_size=world)
    gpu, samples, step, going = Device(index=rank, spin=False), 0, 0, torch.ones(1)
    corpus, engine = Corpus(), Engine(gpu)
    if FIX:
        gc.collect()
        gc.disable()
    dist.barrier()
    over()
    while going:
        engine.forward(corpus.batch(step), step)
        engine.backward()
        step, samples = step + 1, samples + 8 * world
        if step % 20 == 0:
            if rank == 0:
                print(f"step={step}, skipped=0, lr=[3e-05], loss={gpu.item():.4f}", flush=True)
            going.fill_(float(not over()))
            dist.broadcast(going, 0)
    if rank == 0:
        done(gpu, samples)
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    mp.spawn(train, args=(2, PORT), nprocs=2)
