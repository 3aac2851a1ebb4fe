"""Long and short texts fall to the ranks by chance, and all wait for the longest (huggingface/transformers#47340)."""

import os
import random
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

RANKS, BATCH, ACCUMULATE = 2, 8, 2


class Texts(Dataset):
    def __init__(self, count=6400):
        draw = random.Random(0)
        self.lengths = [min(max(int(draw.lognormvariate(5.0, 1.0)), 16), 1024) for _ in range(count)]

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, i):
        return torch.ones(self.lengths[i], dtype=torch.long)


class Sampler:
    """The batches of one rank: as they fall, or each step's texts shared out by length."""

    def __init__(self, lengths, rank):
        self.lengths, self.rank = lengths, rank

    def __len__(self):
        return len(self.lengths) // (RANKS * BATCH)

    def __iter__(self):
        order = list(range(len(self.lengths)))
        random.Random(1).shuffle(order)
        step = RANKS * BATCH * ACCUMULATE
        for start in range(0, len(order) - step + 1, step):
            chosen = order[start : start + step]
            if FIX:
                chosen.sort(key=self.lengths.__getitem__)
                parts = [chosen[n : n + BATCH] for n in range(0, step, BATCH)]
                yield from (parts[0], parts[3]) if self.rank == 0 else (parts[1], parts[2])
            else:
                mine = chosen[self.rank :: RANKS]
                yield from (mine[:BATCH], mine[BATCH:])


def collate(texts):
    return torch.nn.utils.rnn.pad_sequence(texts, batch_first=True)


def train(rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=RANKS)
    gpu, gradients, samples, stop = Device(rank, spin=False), torch.zeros(1000), 0, torch.zeros(1)
    data = Texts()
    loader = DataLoader(data, batch_sampler=Sampler(data.lengths, rank), collate_fn=collate, num_workers=1, persistent_workers=True)
    while not stop:
        for step, input_ids in enumerate(loader, 1):
            gpu.copy(input_ids.nbytes)
            gpu.launch(0.00002 * input_ids.numel(), "forward, backward")
            samples += len(input_ids)
            if step % ACCUMULATE:
                continue
            gpu.item()
            dist.all_reduce(gradients)
            gpu.launch(0.001, "update")
            stop.fill_(over())
            dist.all_reduce(stop)
            if stop:
                break
    done(gpu, samples)
    dist.destroy_process_group()


def main():
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train, (folder,), nprocs=RANKS)


if __name__ == "__main__":
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    main()
