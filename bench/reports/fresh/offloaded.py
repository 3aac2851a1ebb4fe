"""The optimizer is offloaded to the CPU and steps there, one small operation after the other (deepspeedai/DeepSpeed#1697)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Tokens(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        return torch.zeros(128, dtype=torch.long)


class Engine:
    def __init__(self, gpu):
        self.gpu = gpu
        self.master = [torch.nn.Parameter(torch.zeros(1_000_000)) for _ in range(8)]
        for weight in self.master:
            weight.grad = torch.full_like(weight, 0.01)
        self.optimizer = torch.optim.AdamW(self.master, lr=5e-5, foreach=False, fused=FIX)

    def train_batch(self, batch):
        self.gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.025, "forward, backward")
        self.gpu.item()  # gradients to the CPU
        self.optimizer.step()
        self.gpu.copy(16_000_000, pinned=True, non_blocking=True)


def main():
    engine = Engine(Device())
    loader = DataLoader(Tokens(), batch_size=8, shuffle=True, num_workers=1, pin_memory=True)
    samples = 0
    for batch in loader:
        engine.train_batch(batch)
        samples += len(batch)
        if over():
            break
    done(engine.gpu, samples)


if __name__ == "__main__":
    main()
