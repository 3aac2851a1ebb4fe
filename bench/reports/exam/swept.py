"""The garbage collector runs and the device's cache is emptied after each step (huggingface/peft#2894)."""

import gc

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class MetaMath(Dataset):
    """Questions and answers, tokenised, as a list of dicts in memory."""

    def __init__(self, count=60_000):
        self.rows = [{"input_ids": [n, n + 1, n + 2], "attention_mask": [1, 1, 1], "labels": [n]} for n in range(count)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return torch.tensor(self.rows[i]["input_ids"]).repeat(100)


def empty_cache(gpu):
    """As torch.cuda.empty_cache does: wait for the device, and give its free blocks back."""
    gpu.synchronize(spin=False)


def train(gpu, loader):
    samples, durations = 0, []
    for step, batch in enumerate(loader, 1):
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.05, "forward, backward, step")
        durations.append(gpu.item())
        samples += len(batch)
        if FIX:
            if step % 10 == 0:
                empty_cache(gpu)
        else:
            empty_cache(gpu)
            gc.collect()
        if over():
            return samples
    return samples


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    loader = DataLoader(MetaMath(), batch_size=4, shuffle=True, num_workers=1, pin_memory=True)
    done(gpu, train(gpu, loader))


if __name__ == "__main__":
    main()
