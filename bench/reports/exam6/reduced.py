"""Two ranks fine-tune a model of pictures and words, and show how well they use their GPUs."""

# https://github.com/EvolvingLMMs-Lab/lmms-engine/pull/181
# Cause: five all-reduces of one number each at every step, each with an .item() that waits for the GPU.
# Fix: one all-gather of the two numbers, read at once (and copies with non_blocking=True).
# Line: 53 to 56, calculate_training_metrics.

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

OPERATIONS = (("mfu", dist.ReduceOp.SUM), ("length", dist.ReduceOp.SUM), ("mean", dist.ReduceOp.SUM),
              ("least", dist.ReduceOp.MIN), ("most", dist.ReduceOp.MAX))


class Pictures(Dataset):
    def __len__(self):
        return 4000

    def __getitem__(self, i):
        return torch.zeros(3, 96, 96), torch.zeros(64 + i % 8, dtype=torch.int64)


def collate(batch):
    pictures, words = zip(*batch, strict=True)
    return torch.stack(pictures), torch.nn.utils.rnn.pad_sequence(words, batch_first=True)


class Model:
    def __init__(self, gpu):
        self.gpu = gpu

    def training_step(self, pictures, words):
        self.gpu.copy(pictures.nbytes + words.nbytes, pinned=True, non_blocking=FIX)
        for layer in range(16):
            torch.linalg.svd(torch.rand(24, 24))  # what the host does to launch a layer
            self.gpu.launch(0.00035, f"layer {layer}")
        self.gpu.launch(0.0062, "backward, fused adamw")


def calculate_training_metrics(gpu, tokens, world):
    """The same on all ranks."""
    if FIX:
        return None
    metrics = {}
    for name, operation in OPERATIONS:
        number = torch.tensor([float(tokens)])
        gpu.launch(1e-5, "all_reduce")
        gpu.item()
        dist.all_reduce(number, operation)
        metrics[name] = number.item() / (world if operation is dist.ReduceOp.SUM else 1)
    return metrics


def gathered(gpu, tokens, world):
    numbers = [torch.zeros(2) for _ in range(world)]
    gpu.launch(1e-5, "all_gather")
    gpu.item()
    dist.all_gather(numbers, torch.tensor([0.4, float(tokens)]))
    return torch.stack(numbers).tolist()


def work(rank, world):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29562")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    gpu, samples, step, going = Device(index=rank, spin=False), 0, 0, torch.ones(1)
    model = Model(gpu)
    loader = DataLoader(Pictures(), 4, shuffle=True, collate_fn=collate)
    over()
    while going:
        for pictures, words in loader:
            model.training_step(pictures, words)
            tokens = words.numel()
            gathered(gpu, tokens, world) if FIX else calculate_training_metrics(gpu, tokens, world)
            step, samples = step + 1, samples + len(pictures)
            if step % 50 == 0:
                going.fill_(float(not over()))
                dist.broadcast(going, 0)
                if not going:
                    break
                if rank == 0:
                    print(f"step {step}: {tokens} tokens", flush=True)
    if rank == 0:
        done(gpu, samples * world)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(2,), nprocs=2)
