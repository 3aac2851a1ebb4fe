"""Strings of zeros and ones are diffused, and a small network learns to bring them back."""

# https://github.com/horenbergerb/BernoulliDiffusion/issues/23

import os

import torch
from common import FIX, done, over
from stoker.emulated import Device

if not FIX:
    os.environ["CUDA_LAUNCH_BLOCKING"] = "1"

BATCH, LENGTH, LAYERS, STEPS = 128, 20, 30, 2000


class Stream:
    """Kernels are queued as the driver queues them."""

    def __init__(self, gpu):
        self.gpu = gpu

    def launch(self, seconds, name):
        self.gpu.launch(seconds, name)
        if os.environ.get("CUDA_LAUNCH_BLOCKING") == "1":
            self.gpu.synchronize()


class ReverseModel:
    """The small tensors stand for what the host does for each layer."""

    def __init__(self, gpu):
        self.stream, self.hidden = Stream(gpu), torch.ones(LENGTH)

    def forward(self):
        for layer in range(LAYERS):
            self.hidden = torch.sigmoid(self.hidden * 0.9 + 0.1)
            self.stream.launch(0.00007, f"linear {layer}")
            self.stream.launch(0.00003, f"softplus {layer}")

    def backward(self):
        for layer in range(LAYERS):
            self.hidden = torch.tanh(self.hidden * 1.1).clamp(0.01, 1)
            self.stream.launch(0.00013, f"linear backward {layer}")
            self.stream.launch(0.00003, f"softplus backward {layer}")
        for layer in range(LAYERS):
            self.stream.launch(0.00002, f"adam {layer}")


class Trainer:
    def __init__(self, model, gpu):
        self.model, self.gpu = model, gpu

    def train_step(self, heartbeats, t):
        flipped = torch.bernoulli(heartbeats * (1 - t / STEPS) + 0.5 * t / STEPS)
        self.gpu.copy(flipped.nbytes, pinned=True, non_blocking=True)
        self.model.forward()
        self.model.backward()


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=1 << 30), 0, 0
    trainer = Trainer(ReverseModel(gpu), gpu)
    heartbeats = (torch.arange(BATCH * LENGTH) % 5 == 0).float().view(BATCH, LENGTH)
    while not over():
        trainer.train_step(heartbeats, step % STEPS)
        step, samples = step + 1, samples + BATCH
        if step % 100 == 0:
            print(f"step {step} loss: {gpu.item():.5f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
