"""Short films are made from words, in fifty steps from noise; the network is one compiled graph."""

# https://github.com/huggingface/diffusers/pull/9475

import math

import torch
from common import FIX, done, over
from stoker.emulated import Device

STEPS, FRAMES, HEIGHT, WIDTH, TRAINED = 50, 13, 20, 30, 1000


class Timestep:
    """A step's number on the device; to use it as an index the host waits for it."""

    def __init__(self, gpu, value):
        self.gpu, self.value = gpu, value

    def __index__(self):
        if not FIX:
            self.gpu.item()
        return self.value


class CogVideoXDDIMScheduler:
    def __init__(self, gpu):
        self.gpu, self.betas = gpu, torch.linspace(0.00085, 0.012, TRAINED, dtype=torch.float64)
        self.alphas_cumprod = torch.cumprod(1 - self.betas, 0)

    def set_timesteps(self, count):
        self.timesteps = [Timestep(self.gpu, t) for t in range(TRAINED - 1, -1, -TRAINED // count)]

    def step(self, timestep, previous):
        """What of the noise is left: numbers of this step and of the next."""
        alpha, alpha_prev = self.alphas_cumprod[timestep], self.alphas_cumprod[previous]
        a = ((1 - alpha_prev) / (1 - alpha)) ** 0.5
        b = alpha_prev**0.5 - alpha**0.5 * a
        for kernel in ("pred original sample", "prev sample"):
            self.gpu.launch(0.00002, kernel)
        return a, b


class CogVideoXPipeline:
    def __init__(self, gpu):
        self.gpu, self.scheduler = gpu, CogVideoXDDIMScheduler(gpu)

    def rotary_positional_embeddings(self):
        """Sines and cosines of each place in each frame."""
        parts = []
        for size, width in ((FRAMES, 16), (HEIGHT, 24), (WIDTH, 24)):
            frequencies = 1.0 / 10000 ** (torch.arange(0, width, 2)[: width // 2].float() / width)
            parts.append(torch.outer(torch.arange(size).float(), frequencies).repeat_interleave(2, 1))
        grid = torch.cat([
            parts[0][:, None, None].expand(FRAMES, HEIGHT, WIDTH, -1),
            parts[1][None, :, None].expand(FRAMES, HEIGHT, WIDTH, -1),
            parts[2][None, None, :].expand(FRAMES, HEIGHT, WIDTH, -1),
        ], -1)  # fmt: skip
        return grid[:, ::2, ::2].cos(), grid[:, ::2, ::2].sin()

    def guidance_scale(self, t):
        return 1 + 6.0 * (1 - math.cos(math.pi * ((STEPS - t / 20) / STEPS) ** 5.0)) / 2

    def __call__(self, prompt):
        self.gpu.launch(0.008, "text encoder")
        self.scheduler.set_timesteps(STEPS)
        steps = self.scheduler.timesteps
        for t, previous in zip(steps, [*steps[1:], steps[-1]], strict=True):
            cos, sin = self.rotary_positional_embeddings()
            self.gpu.copy(cos.nbytes + sin.nbytes, pinned=True, non_blocking=True)
            self.gpu.launch(0.0062, "compiled transformer")
            self.guidance_scale(t.value)
            self.scheduler.step(t, previous)
        self.gpu.launch(0.03, "vae decoder")
        return prompt


def main():
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    gpu, samples = Device(spin=False, memory_used=24 << 30), 0
    pipeline = CogVideoXPipeline(gpu)
    while not over():
        pipeline("a panda plays the guitar in a bamboo forest")
        gpu.item()
        samples += STEPS
        print(f"100% {STEPS}/{STEPS}, film {samples // STEPS}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
