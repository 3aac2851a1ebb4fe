"""One of two ranks gets the long answers, and the other is idle until then in each step (Tencent-Hunyuan/UniRL#45)."""

import os
import random
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Answers(Dataset):
    """Groups of eight answers: those to hard questions, the second half, are long."""

    def __init__(self, rank):
        draw = random.Random(0)
        lengths = [draw.randint(100, 300) if n < 2000 else draw.randint(900, 1100) for n in range(4000)]
        self.lengths = sorted(lengths[rank::2]) if FIX else lengths[rank * 2000 : rank * 2000 + 2000]

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, i):
        return torch.zeros(1100), self.lengths[i]


def train(rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    gpu, gradients, samples, stop = Device(rank, spin=False), torch.zeros(1000), 0, torch.zeros(1)
    loader = DataLoader(Answers(rank), batch_size=8, num_workers=1, pin_memory=True, persistent_workers=True)
    while not stop:
        for tokens, lengths in loader:
            gpu.copy(tokens.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.000005 * int(lengths.sum()), "forward, backward")
            gpu.item()
            dist.all_reduce(gradients)
            gpu.launch(0.001, "update")
            samples += len(lengths)
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
