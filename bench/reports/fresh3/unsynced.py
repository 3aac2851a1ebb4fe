"""Gradients are reduced in each micro-step: the forward pass is outside no_sync() (KellerJordan/modded-nanogpt#31)."""

import contextlib
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from common import FIX, done, over
from stoker.emulated import Device
from torch.nn.parallel import DistributedDataParallel

WIDTH, BATCH = 1024, 1


class GPT(torch.nn.Module):
    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.layers = gpu, torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(10))

    def forward(self, x, y):
        self.gpu.copy(x.nbytes + y.nbytes, pinned=True, non_blocking=True)
        for layer in self.layers:
            x = torch.relu(layer(x))
            self.gpu.launch(0.0005, "layer")
        return (x - y).square().mean()


class DistributedDataLoader:
    def __init__(self, rank):
        self.tokens, self.position = torch.rand(200, BATCH, WIDTH), rank

    def next_batch(self):
        self.position += 2
        return self.tokens[self.position % 199], self.tokens[self.position % 199 + 1]


def train(rank, folder, train_accumulation_steps=8):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    gpu, samples, stop = Device(rank, spin=False), 0, torch.zeros(1)
    model = DistributedDataParallel(GPT(gpu))
    optimizer, train_loader = torch.optim.SGD(model.parameters(), lr=0.01), DistributedDataLoader(rank)
    x, y = train_loader.next_batch()
    while True:
        for i in range(1, train_accumulation_steps + 1):
            no_sync = model.no_sync if i < train_accumulation_steps else contextlib.nullcontext
            with no_sync() if FIX else contextlib.nullcontext():
                loss = model(x, y)
                x, y = train_loader.next_batch()
                with no_sync():
                    loss.backward()
                gpu.launch(0.012, "backward")
            samples += BATCH
        gpu.item()
        optimizer.step()
        model.zero_grad(set_to_none=True)
        stop.fill_(over())
        dist.all_reduce(stop)
        if stop:
            break
    done(gpu, samples)
    dist.destroy_process_group()


def main():
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train, (folder,), nprocs=2)


if __name__ == "__main__":
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    main()
