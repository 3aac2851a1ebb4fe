"""A model is compiled again for each length, as batches are padded to their longest text (pytorch/pytorch#188150)."""

import logging
import random

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

logging.getLogger("torch._dynamo").setLevel(logging.ERROR)
torch._dynamo.config.recompile_limit = 512
MAX_LENGTH = 256


class Preferences(Dataset):
    def __init__(self):
        draw = random.Random(0)
        self.lengths = [min(int(draw.lognormvariate(4.2, 0.6)), MAX_LENGTH) for _ in range(4000)]

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, i):
        return torch.ones(max(self.lengths[i], 8), dtype=torch.long)


def collate(rows):
    """Pad to the longest row of the batch, or to the longest that there may be."""
    longest = MAX_LENGTH if FIX else max(len(row) for row in rows)
    return torch.stack([torch.nn.functional.pad(row, (0, longest - len(row))) for row in rows])


class Block(torch.nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.norm, self.qkv = torch.nn.LayerNorm(width), torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        return x + self.out((q @ k.transpose(1, 2)).softmax(-1) @ v)


class Policy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.blocks = torch.nn.Embedding(8, 16), torch.nn.Sequential(*[Block() for _ in range(2)])

    def forward(self, input_ids):
        return self.blocks(self.embedding(input_ids)).mean()


def main():
    torch.set_num_threads(1)
    gpu, samples, policy = Device(spin=False), 0, Policy()
    model = torch.compile(policy, backend="aot_eager", dynamic=False)  # each size has a graph of its own
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.001)
    loader = DataLoader(Preferences(), batch_size=8, shuffle=True, num_workers=1, pin_memory=True, collate_fn=collate)
    for step, input_ids in enumerate(loader):
        gpu.copy(input_ids.nbytes, pinned=True, non_blocking=True)
        loss = model(input_ids)
        gpu.launch(0.000008 * input_ids.numel(), "forward")
        loss.backward()
        gpu.launch(0.000016 * input_ids.numel(), "backward")
        optimizer.step()
        optimizer.zero_grad()
        samples += len(input_ids)
        if step % 20 == 0:
            gpu.item()
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
