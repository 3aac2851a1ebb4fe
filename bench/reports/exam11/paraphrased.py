"""Code is streamed to two ranks and made tokens on the way; a small language model learns from it."""

# https://github.com/huggingface/accelerate/issues/158

import os
import random
import warnings

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from common import FIX, done, over
from stoker.emulated import Device
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.utils.data import DataLoader, IterableDataset

SEQUENCE, BATCH, PARAMETERS = 512, 8, 200_000
PORT = 29350 + os.getpid() % 300


class ConstantLengthDataset(IterableDataset):
    """Files are joined and cut to sequences of one length."""

    def __init__(self, rank, world):
        words = {"<unk>": 0, "<eos>": 1} | {f"name{i}": i + 2 for i in range(3000)}
        self.tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
        self.tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        draw = random.Random(0)
        self.files = [" ".join(f"name{draw.randrange(3000)}" for _ in range(draw.randint(200, 900))) for _ in range(80)]
        self.rank, self.world = rank, world

    def contents(self):
        number = 0
        while True:
            yield self.files[number % len(self.files)]
            number += 1

    def __iter__(self):
        buffer = []
        for number, content in enumerate(self.contents()):
            if FIX and number % self.world != self.rank:
                continue
            buffer += self.tokenizer.encode(content).ids + [1]
            while len(buffer) >= SEQUENCE:
                yield torch.tensor(buffer[:SEQUENCE])
                buffer = buffer[SEQUENCE:]


class IterableDatasetShard(IterableDataset):
    """Of each group of world times batch sequences the part of one rank."""

    def __init__(self, dataset, rank, world):
        self.dataset, self.rank, self.world = dataset, rank, world

    def __iter__(self):
        if FIX:
            yield from self.dataset
        group = []
        for element in self.dataset:
            group.append(element)
            if len(group) == BATCH * self.world:
                yield from group[self.rank * BATCH : (self.rank + 1) * BATCH]
                group = []


class GPT2:
    def __init__(self, gpu):
        self.gpu, self.gradients = gpu, torch.zeros(PARAMETERS)

    def step(self, input_ids):
        self.gpu.copy(input_ids.nbytes, pinned=True, non_blocking=True)
        for layer in range(6):
            self.gpu.launch(0.0003, f"layer {layer}")
        self.gpu.launch(0.0042, "backward")
        self.gpu.item()
        dist.all_reduce(self.gradients)
        self.gpu.launch(0.0008, "adamw")


def train(rank, world, port):
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    os.environ.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
    dist.init_process_group("gloo", rank=rank, world_size=world)
    gpu, samples, step, going = Device(index=rank, spin=False), 0, 0, torch.ones(1)
    model = GPT2(gpu)
    loader = DataLoader(IterableDatasetShard(ConstantLengthDataset(rank, world), rank, world), BATCH)
    over()
    for input_ids in loader:
        model.step(input_ids)
        step, samples = step + 1, samples + len(input_ids) * world
        if step % 20 == 0:
            if rank == 0:
                print(f"Step {step}: {{'loss/train': {gpu.item():.4f}}}", flush=True)
            going.fill_(float(not over()))
            dist.broadcast(going, 0)
            if not going:
                break
    if rank == 0:
        done(gpu, samples)
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    mp.spawn(train, args=(2, PORT), nprocs=2)
