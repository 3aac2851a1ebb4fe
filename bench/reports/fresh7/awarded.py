"""Reinforcement of a language model by answers that can be checked, in the trainer's own process."""

# https://github.com/allenai/open-instruct/pull/1225
# Cause: rewards of all completions are computed after generation, one by one, while the GPU waits.
# Fix: compute them where completions come from, as each is done, without waiting for them (asynchronously).
# Line: 35 to 46, reward_fn (SequenceMatcher at 43; called at 76).

import concurrent.futures
import difflib
import random
import re
import signal

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

GROUPS, SIZE = 8, 6  # prompts to a step, completions to a prompt


class Prompts(Dataset):
    def __len__(self):
        return 800

    def __getitem__(self, i):
        return f"What is {i} times 17? Show how, and put the result between braces.", f"{17 * i}"


def generated(prompt, truth, draw):
    steps = " ".join(f"{draw.randint(1, 99)} + {draw.randint(1, 99)} = {draw.randint(1, 198)}," for _ in range(110))
    return f"{prompt} First {steps} so that it is \\boxed{{{truth if draw.random() < 0.4 else draw.randint(0, 9999)}}}."


def reward_fn(completions, truth):
    """Right answer, form, and little that was said before."""
    rewards = []
    for completion in completions:
        found = re.findall(r"\\boxed\{(.*?)\}", completion)
        reward = 10.0 * bool(found and found[-1].strip() == truth)
        parts = [part.strip() for part in completion.split(",")]
        for first, second in zip(parts, parts[1:], strict=False):
            if difflib.SequenceMatcher(None, first, second).ratio() > 0.9:
                reward -= 0.1
        rewards.append(reward)
    return rewards


class Trainer:
    def __init__(self, gpu):
        self.gpu, self.draw, self.pool = gpu, random.Random(1), None
        if FIX:
            ignore = (signal.SIGINT, signal.SIG_IGN)
            self.pool = concurrent.futures.ProcessPoolExecutor(1, initializer=signal.signal, initargs=ignore)

    def generate(self, prompt, truth):
        for _ in range(4):
            self.gpu.launch(0.008, "decode")
        self.gpu.item()
        return [generated(prompt, truth, self.draw) for _ in range(SIZE)]

    def one_training_step(self, rewards):
        advantages = torch.tensor(rewards).view(GROUPS, SIZE)
        advantages = (advantages - advantages.mean(1, keepdim=True)) / (advantages.std(1, keepdim=True) + 1e-8)
        self.gpu.copy(advantages.nbytes)
        self.gpu.launch(0.06, "old and reference logprobs")
        self.gpu.launch(0.14, "policy, backward, adamw")

    def step(self, prompts, truths):
        if self.pool:
            pairs = zip(prompts, truths, strict=True)
            waiting = [self.pool.submit(reward_fn, self.generate(p, t), t) for p, t in pairs]
            rewards = [reward for future in waiting for reward in future.result()]
        else:
            answers = [self.generate(p, t) for p, t in zip(prompts, truths, strict=True)]
            rewards = [r for a, t in zip(answers, truths, strict=True) for r in reward_fn(a, t)]
        self.one_training_step(rewards)
        return sum(rewards) / len(rewards)


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    trainer = Trainer(gpu)
    loader = DataLoader(Prompts(), GROUPS, shuffle=True)
    while not over():
        for prompts, truths in loader:
            mean = trainer.step(prompts, truths)
            samples, step = samples + GROUPS * SIZE, step + 1
            print(f"step {step}: reward {mean:.2f}", flush=True)
            if over():
                break
    if trainer.pool:
        trainer.pool.shutdown()
    done(gpu, samples)


if __name__ == "__main__":
    main()
