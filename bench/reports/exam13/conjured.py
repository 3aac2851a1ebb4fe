"""Pictures are made from words in fifty steps; how much noise is left at each step is known on the device."""

# https://github.com/AUTOMATIC1111/stable-diffusion-webui/pull/15823

import torch
from common import FIX, done, over
from stoker.emulated import Device

STEPS, HEIGHT, WIDTH = 50, 768, 512


class Sigmas:
    """Noise of each step; to compare one on the device the host waits."""

    def __init__(self, gpu, count):
        self.gpu, self.values = gpu, [14.6 * (1 - i / count) ** 3 for i in range(count + 1)]

    def __getitem__(self, i):
        if not FIX:
            self.gpu.item()
        return self.values[i]

    def __len__(self):
        return len(self.values)


class UNet:
    def __init__(self, gpu):
        self.gpu = gpu

    def __call__(self):
        for block in range(25):
            self.gpu.launch(0.0029, f"block {block}")


def sample_dpmpp_2m(model, sigmas, gpu):
    old_denoised = None
    for i in range(len(sigmas) - 1):
        model()
        gpu.launch(0.00008, "denoised")
        if old_denoised is None or sigmas[i + 1] == 0:
            gpu.launch(0.00003, "first or last step")
        else:
            gpu.launch(0.00005, "step with memory")
        old_denoised = i


def main():
    torch.set_num_threads(1)
    gpu, samples, pictures = Device(spin=False, memory_used=5 << 30), 0, 0
    model = UNet(gpu)
    while not over():
        gpu.launch(0.012, "text encoder")
        sample_dpmpp_2m(model, Sigmas(gpu, STEPS), gpu)
        gpu.launch(0.19, "vae decoder")
        gpu.item()
        samples, pictures = samples + STEPS, pictures + 1
        print(f"picture {pictures}, {WIDTH}x{HEIGHT}, {STEPS} steps", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
