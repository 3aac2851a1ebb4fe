"""A diffusion model learns a style by small matrices beside its own (LoRA); gradients are clipped by their norm."""

# https://github.com/finegrain-ai/refiners/pull/326
# Cause: the norm of the gradients is computed parameter by parameter, each is read by the host, and after each small batch.
# Fix: torch.nn.utils.clip_grad_norm_, some kernels for all parameters, and only before the optimizer's step.
# Line: 38 to 39, 42 to 43, 47 to 50, 54 to 58, 76, 85: compute_grad_norm and clip_gradient_norm, called in Trainer.backward.

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

PARAMETERS, ACCUMULATION, BATCH = 384, 2, 4


class Latents(Dataset):
    """Pictures and texts that were encoded before."""

    def __init__(self, count=4000):
        self.latent, self.text = torch.zeros(4, 64, 64), torch.zeros(77, 768)
        self.count, self.steps = count, numpy.random.default_rng(0).integers(0, 1000, count)

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.latent, self.text, int(self.steps[i])


class Parameters:
    """LoRA's matrices: norms are real and small, the device's share of the work is emulated."""

    def __init__(self, gpu):
        self.gpu, self.gradients = gpu, [torch.full((8, 8), 1e-3) for _ in range(PARAMETERS)]

    def norm(self, gradient):
        self.gpu.launch(0.000006, "norm")
        return gradient.norm()

    def item(self, value):
        self.gpu.item()
        return float(value)


def compute_grad_norm(parameters):
    total = 0.0
    for gradient in parameters.gradients:
        total += parameters.item(parameters.norm(gradient)) ** 2
    return total**0.5


def clip_gradient_norm(parameters, total_norm, clip_norm=1.0):
    coefficient = clip_norm / (total_norm + 1e-6)
    if coefficient < 1:
        for gradient in parameters.gradients:
            gradient.mul_(coefficient)
            parameters.gpu.launch(0.000004, "mul")


def clip_grad_norm_(parameters, max_norm=1.0):
    total = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(parameters.gradients)))
    for kernel in ("foreach norm", "foreach norm", "stack", "norm", "foreach mul", "foreach mul"):
        parameters.gpu.launch(0.00004, kernel)
    torch._foreach_mul_(parameters.gradients, torch.clamp(max_norm / (total + 1e-6), max=1.0))


class Trainer:
    def __init__(self, gpu):
        self.gpu, self.parameters, self.iteration = gpu, Parameters(gpu), 0

    def backward(self):
        self.gpu.launch(0.017, "backward")
        self.iteration += 1
        if not FIX:
            clip_gradient_norm(self.parameters, compute_grad_norm(self.parameters))
        if self.iteration % ACCUMULATION == 0:
            if FIX:
                clip_grad_norm_(self.parameters)
            self.gpu.launch(0.0012, "adamw")

    def run_iteration(self, latents, texts):
        self.gpu.copy(latents.nbytes + texts.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.0103, "unet")
        self.backward()


def main():
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    gpu, samples = Device(spin=False), 0
    trainer = Trainer(gpu)
    loader = DataLoader(Latents(), BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for latents, texts, _ in loader:
            trainer.run_iteration(latents, texts)
            samples += len(latents)
            if trainer.iteration % 50 == 0:
                print(f"iteration {trainer.iteration}: loss {gpu.item():.4f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
