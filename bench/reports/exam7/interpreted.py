"""Two ranks train one translator, each with batches of other languages, and sum their gradients."""

# https://github.com/Helsinki-NLP/mammoth/pull/55
# Cause: batches of both ranks differ in length, and the rank with the short one waits for the other at each step.
# Fix: sentences are cut or padded to one length and counted by sentences, so that each batch is the same work.
# Line: 71, all_reduce waits in train (the lengths come from 30 to 34).

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

MAX_LENGTH, BATCH = 128, 16


class Europarl(Dataset):
    """Sentences of a pair of languages, by how long they are: some are very long."""

    def __init__(self, rank, count=3000):
        self.lengths = (torch.distributions.LogNormal(3.4, 0.9).sample((count,)) + 4).clamp(max=400).long()
        self.rank = rank

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, i):
        ids = torch.full((int(self.lengths[i]),), 7 + i % 30_000)
        if FIX:
            return torch.nn.functional.pad(ids[:MAX_LENGTH], (0, max(0, MAX_LENGTH - len(ids))))
        return ids


def collate(sentences):
    return torch.nn.utils.rnn.pad_sequence(sentences, batch_first=True)


class Translator:
    def __init__(self, gpu):
        self.gpu, self.gradients = gpu, torch.ones(20_000)

    def forward_backward(self, ids):
        work = ids.numel() * 1.1e-5 + ids.numel() * ids.shape[1] * 3e-8
        self.gpu.copy(ids.nbytes, pinned=True, non_blocking=True)
        for layer in range(6):
            self.gpu.launch(work / 18, f"layer {layer}")
        self.gpu.launch(work * 2 / 3, "backward")


def connect(rank, world):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29571")
    dist.init_process_group("gloo", rank=rank, world_size=world)


def train(rank, world):
    torch.set_num_threads(1)
    torch.manual_seed(rank)
    connect(rank, world)
    gpu, samples, step, going = Device(index=rank, spin=False), 0, 0, torch.ones(1)
    model = Translator(gpu)
    loader = DataLoader(Europarl(rank), BATCH, shuffle=True, collate_fn=collate, drop_last=True)
    over()
    while going:
        for ids in loader:
            model.forward_backward(ids)
            gpu.item()
            dist.all_reduce(model.gradients)
            model.gradients /= world
            gpu.launch(0.001, "adafactor")
            step, samples = step + 1, samples + BATCH * world
            if step % 20 == 0:
                going.fill_(float(not over()))
                dist.broadcast(going, 0)
                if rank == 0:
                    print(f"Step {step}; {samples} sentences", flush=True)
                if not going:
                    break
    if rank == 0:
        done(gpu, samples)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(train, args=(2,), nprocs=2)
