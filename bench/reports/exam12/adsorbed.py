"""Energies and forces of molecules, crystals and catalysts are learned together, each kind by a loss of its own."""

# https://github.com/facebookresearch/fairchem/pull/2193

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

BATCH, ATOMS, LAYERS = 16, 60, 24
KINDS, LABELS = ("omol", "omat", "oc20", "odac", "omc"), ("energy", "forces", "stress")
TASKS = [f"{kind}_{label}" for kind in KINDS for label in LABELS]


class Structures(Dataset):
    def __init__(self, count=60_000):
        self.positions, self.count = torch.rand(ATOMS, 3), count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.positions, i % 5


class Escn:
    """Each call takes the host a moment; its kernels run later."""

    def __init__(self, gpu):
        self.gpu, self.weight = gpu, torch.zeros(32, 32)

    def op(self, hidden, seconds, name):
        hidden = torch.nn.functional.silu(torch.mv(self.weight, hidden))
        self.gpu.launch(seconds, name)
        return hidden

    def forward(self, positions):
        self.gpu.copy(positions.nbytes, pinned=True, non_blocking=True)
        hidden = self.weight[0]
        for layer in range(LAYERS):
            for kernel in ("rotate", "convolve", "experts", "gate", "reduce", "norm"):
                hidden = self.op(hidden, 0.000035, f"{kernel} {layer}")
        return hidden


class DDPMTLoss:
    """A mean over the samples that have this label, whatever rank they are on."""

    def __init__(self, gpu, model):
        self.gpu, self.model = gpu, model

    def count(self):
        self.gpu.launch(0.000008, "mask, sum")
        if FIX:
            return torch.ones(1)
        samples = torch.tensor([self.gpu.item()])
        self.gpu.copy(samples.nbytes)
        self.gpu.launch(0.00001, "all reduce")
        return torch.tensor(self.gpu.item())

    def finite(self):
        self.gpu.launch(0.000008, "isfinite, all")
        return True if FIX else not self.gpu.item()

    def __call__(self, hidden, task):
        hidden = self.model.op(hidden, 0.00002, f"{task} mask")
        samples = self.count()
        hidden = self.model.op(hidden, 0.00002, f"{task} l2mae")
        hidden = self.model.op(hidden, 0.00002, f"{task} sum")
        if self.finite():
            hidden = hidden / samples.clamp(min=1)
        return self.model.op(hidden, 0.00002, f"{task} scale")


class Runner:
    def __init__(self, gpu):
        self.gpu, self.model = gpu, Escn(gpu)
        self.loss = DDPMTLoss(gpu, self.model)

    def train_step(self, positions):
        hidden = self.model.forward(positions)
        total = sum(self.loss(hidden, task).sum() for task in TASKS)
        for layer in range(LAYERS):
            for kernel in ("norm", "gate", "experts", "convolve", "rotate"):
                hidden = self.model.op(hidden, 0.00005, f"{kernel} backward {layer}")
        self.gpu.launch(0.0006, "adamw, ema")
        return total


def main():
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    gpu, samples, step = Device(spin=False, memory_used=52 << 30), 0, 0
    runner = Runner(gpu)
    loader = DataLoader(Structures(), BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for positions, _ in loader:
            runner.train_step(positions)
            step, samples = step + 1, samples + len(positions)
            if step % 100 == 0:
                print(f"epoch 0 step {step} train/loss {gpu.item():.4f} lr 4.0e-04", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
