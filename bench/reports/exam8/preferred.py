"""PPO for a language model: answers are written and scored, then policy and value network learn from them."""

# https://github.com/NVIDIA-NeMo/RL/pull/4156
# Cause: advantages are computed token by token, some tiny kernels each, from the last token to the first.
# Fix: with gamma and lambda of one it is a sum from the end: a reversed cumsum.
# Line: 82, gae in train (the loop is at 31 to 37).

import torch
from common import FIX, done, over
from stoker.emulated import Device

ROLLOUTS, LENGTH = 8, 1024


class OnDevice:
    """A tensor on the device; it is small, so the host computes it too."""

    def __init__(self, gpu, value):
        self.gpu, self.value = gpu, value

    def do(self, name, function, *arguments, seconds=0.0000025):
        self.gpu.launch(seconds, name)
        return function(*arguments)


def gae(device, rewards, values, mask, gamma=1.0, lam=1.0):
    if FIX and gamma == lam == 1:
        togo = device.do("flip, cumsum, flip", lambda: rewards.flip(1).cumsum(1).flip(1), seconds=0.00003)
        return device.do("sub, mul", lambda: (togo - values) * mask, seconds=0.00002)
    last, following, advantages = torch.zeros(len(rewards)), torch.zeros(len(rewards)), torch.zeros_like(rewards)
    for t in reversed(range(rewards.shape[1])):
        keep = mask[:, t]
        delta = device.do("add, sub", lambda t=t: rewards[:, t] + gamma * following - values[:, t])
        fresh = device.do("mul, add", lambda d=delta: d + gamma * lam * last)
        last = device.do("where", torch.where, keep, fresh, last)
        following = device.do("where", torch.where, keep, values[:, t], following)
        advantages[:, t] = device.do("copy", lambda: last)
    return advantages


class Generation:
    """A separate engine; here is only the wait of the training process."""

    def __init__(self, gpu):
        self.gpu = gpu

    def generate(self):
        for block in range(8):
            self.gpu.launch(0.003, f"decode block {block}")
        self.gpu.item()
        lengths = torch.randint(LENGTH // 2, LENGTH, (ROLLOUTS,))
        return torch.arange(LENGTH) < lengths[:, None]


class Worker:
    def __init__(self, gpu):
        self.gpu = gpu

    def value_and_logprobs(self, tokens):
        self.gpu.copy(tokens.nbytes * 8)
        self.gpu.launch(0.011, "log probabilities")
        self.gpu.launch(0.01, "values")
        return torch.zeros(ROLLOUTS, LENGTH)

    def train(self, advantages):
        self.gpu.copy(advantages.nbytes, pinned=True, non_blocking=True)
        for name in ("policy", "value"):
            self.gpu.launch(0.007, f"{name} forward")
            self.gpu.launch(0.014, f"{name} backward, adamw")
        return self.gpu.item()


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=60 << 30), 0, 0
    generation, worker, device = Generation(gpu), Worker(gpu), OnDevice(gpu, None)
    while not over():
        mask = generation.generate()
        values = worker.value_and_logprobs(mask)
        rewards = torch.zeros(ROLLOUTS, LENGTH)
        rewards[torch.arange(ROLLOUTS), mask.sum(1) - 1] = torch.rand(ROLLOUTS)
        loss = worker.train(gae(device, rewards, values, mask))
        step, samples = step + 1, samples + ROLLOUTS
        if step % 10 == 0:
            print(f"Step {step}: reward {rewards.sum(1).mean():.3f}, loss {loss:.4f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
