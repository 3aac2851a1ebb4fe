"""A transformer that makes videos, trained by four small batches to a step."""

# https://github.com/hao-ai-lab/FastVideo/pull/1217
# Cause: .item() on the loss of each small batch waits for the device, and copies from pageable memory block, so that the CPU
#        never runs ahead: the GPU is idle for 45 % of the time.
# Fix: add the loss up on the device, read it once a step, and copy with non_blocking=True from pinned memory.
# Line: 68, gpu.item() in train_one_step (the copies are at 38).

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

BLOCKS, SMALL = 30, 4


class Latents(Dataset):
    """What the encoders made of clips and captions, beforehand."""

    def __len__(self):
        return 2000

    def __getitem__(self, i):
        return {
            "latents": torch.full((16, 8, 30, 52), i / 2000), "states": torch.full((128, 512), i / 2000),
            "mask": torch.ones(128, dtype=torch.bool),
        }


class WanTransformer:
    """Python prepares each block: rotations of positions, modulation, the shapes of shards."""

    def __init__(self, gpu):
        self.gpu, self.table = gpu, torch.rand(6, 64)

    def get_next_batch(self, batch):
        for name in ("latents", "states", "mask"):
            self.gpu.copy(batch[name].nbytes, pinned=FIX, non_blocking=FIX)

    def prepare(self, time):
        angles = torch.outer(torch.arange(40.0), 1 / 10_000 ** torch.linspace(0, 1, 16)) * time
        rotation = torch.polar(torch.ones_like(angles), angles)
        return torch.linalg.svd(self.table[:, :6] + rotation.real[:6, :6])

    def forward(self, time):
        for block in range(BLOCKS):
            self.prepare(time + block)
            self.gpu.launch(0.00005, f"attention {block}")
            self.gpu.launch(0.00004, f"mlp {block}")

    def backward(self):
        for block in reversed(range(BLOCKS)):
            self.prepare(float(block))
            self.gpu.launch(0.00016, f"backward {block}")


def train_one_step(gpu, model, batches):
    total_loss = 0.0
    for number in range(SMALL):
        batch = next(batches)
        model.get_next_batch(batch)
        model.forward(0.1 + number)
        gpu.launch(0.00005, "flow matching loss")
        model.backward()
        if FIX:
            gpu.launch(0.000005, "add to the loss of the step")
        else:
            total_loss += gpu.item() / SMALL
    gpu.launch(0.0015, "clip, adamw")
    return gpu.item() if FIX else total_loss


def endless(loader):
    while True:
        yield from loader


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    model = WanTransformer(gpu)
    batches = endless(DataLoader(Latents(), 1, shuffle=True, num_workers=1, pin_memory=FIX, persistent_workers=True))
    while not over():
        loss = train_one_step(gpu, model, batches)
        step, samples = step + 1, samples + SMALL
        if step % 10 == 0:
            print(f"step {step}: loss {loss:.4f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
