"""A picture model of many small weights is trained in shards; gradients are clipped."""

# https://github.com/pytorch/pytorch/issues/134191

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

WEIGHTS, BATCH, SIDE = 900, 16, 64


class Latents(Dataset):
    def __init__(self, count=60_000):
        self.latent, self.count = torch.zeros(4, SIDE, SIDE), count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.latent


class DTensor:
    """A shard of a weight, and how it is laid out over the ranks."""

    def __init__(self, local, placements):
        self.local, self.placements = local, placements

    def apply(self, function, *others):
        locals_ = [other.local if isinstance(other, DTensor) else other for other in others]
        return DTensor(function(self.local, *locals_), tuple(self.placements))


class AdamW:
    def __init__(self, gpu, parameters):
        self.gpu, self.parameters, self.fused = gpu, parameters, FIX
        self.averages = [DTensor(torch.zeros(16), ("shard 0",)) for _ in parameters]

    def step(self):
        if self.fused:
            self.gpu.launch(0.004, "fused adamw")
            return
        for parameter, average in zip(self.parameters, self.averages, strict=True):
            average.apply(torch.Tensor.lerp_, parameter, 0.1)
            self.gpu.launch(0.0000015, "lerp")
            denominator = average.apply(torch.sqrt).apply(torch.Tensor.add_, 1e-8)
            self.gpu.launch(0.0000015, "addcmul, sqrt")
            parameter.apply(torch.Tensor.addcdiv_, average, denominator)
            self.gpu.launch(0.0000015, "addcdiv")


class Dit:
    def __init__(self, gpu):
        self.gpu = gpu
        self.parameters = [DTensor(torch.ones(16), ("shard 0",)) for _ in range(WEIGHTS)]
        self.optimizer = AdamW(gpu, self.parameters)

    def clip_grad_norm(self):
        self.gpu.launch(0.0008, "norms")
        return self.gpu.item()

    def train_step(self, latents):
        self.gpu.copy(latents.nbytes, pinned=True, non_blocking=True)
        for block in range(24):
            self.gpu.launch(0.0007, f"block {block}")
        self.gpu.launch(0.031, "backward")
        norm = self.clip_grad_norm()
        self.optimizer.step()
        return norm


def main():
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    gpu, samples, step = Device(spin=False, memory_used=33 << 30), 0, 0
    model = Dit(gpu)
    loader = DataLoader(Latents(), BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for latents in loader:
            norm = model.train_step(latents)
            step, samples = step + 1, samples + len(latents)
            if step % 20 == 0:
                print(f"step {step} grad_norm {norm:.3f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
