"""Two ranks train a model of documents, each with its part of them."""

import os
import random

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset, DistributedSampler, Sampler


class Documents(Dataset):
    def __init__(self, count=4000, seed=0):
        draw = random.Random(seed)
        self.lengths = [int(min(2048, max(32, draw.lognormvariate(5.6, 1.0)))) for _ in range(count)]

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, i):
        return torch.ones(self.lengths[i], dtype=torch.long)


class LoadBalancingDistributedSampler(Sampler):
    """Documents of like length go to all ranks at the same time."""

    def __init__(self, dataset, rank, world):
        self.rank, self.world, self.epoch = rank, world, 0
        self.order = sorted(range(len(dataset)), key=dataset.lengths.__getitem__)

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        groups = [self.order[i : i + self.world] for i in range(0, len(self.order) - self.world + 1, self.world)]
        random.Random(self.epoch).shuffle(groups)
        return iter([group[self.rank] for group in groups])

    def __len__(self):
        return len(self.order) // self.world


def collate(batch):
    return batch


class Model(torch.nn.Module):
    """Documents are packed, so that none of the work is padding."""

    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.layer = gpu, torch.nn.Linear(64, 64)

    def forward_backward(self, documents):
        tokens = sum(map(len, documents))
        self.gpu.copy(8 * tokens, pinned=True, non_blocking=True)
        for _ in range(12):
            self.gpu.launch(8e-6 * tokens, "layer")
        self.gpu.launch(1.9e-4 * tokens, "backward")
        self.layer(torch.ones(1, 64)).mean().backward()


def reduce_gradients(gpu, model, world):
    gpu.synchronize()
    for p in model.parameters():
        dist.all_reduce(p.grad)
        p.grad /= world


def work(rank, world):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29531")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    gpu, data = Device(index=rank, spin=False), Documents()
    sampler = LoadBalancingDistributedSampler(data, rank, world) if FIX else DistributedSampler(data, world, rank)
    loader = DataLoader(data, 2, sampler=sampler, collate_fn=collate, drop_last=True)
    model, step, samples, epoch, going = Model(gpu), 0, 0, 0, torch.ones(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    over()
    while going:
        sampler.set_epoch(epoch)
        for documents in loader:
            optimizer.zero_grad()
            model.forward_backward(documents)
            reduce_gradients(gpu, model, world)
            optimizer.step()
            gpu.launch(0.002, "adam")
            step, samples = step + 1, samples + len(documents)
            if step % 20 == 0:
                going.fill_(float(not over()))
                dist.broadcast(going, 0)
                if not going:
                    break
                if rank == 0:
                    print(f"step {step}: loss {gpu.item():.4f}", flush=True)
        epoch += 1
    if rank == 0:
        done(gpu, samples * world)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(2,), nprocs=2)
