"""A simulated body learns to stand from pictures; what it saw is kept in a buffer, from which batches are drawn."""

# https://github.com/facebookresearch/drqv2/pull/17
# Cause: none: with another replay buffer, entirely in numpy, the frames per second are the same on all machines.
# Fix: nothing to change (--fix has that buffer, without a loader and its worker, which gains nothing).
# Line: none.

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, IterableDataset

CAPACITY, SIDE, STACK, BATCH, UPDATE_EVERY = 3000, 42, 3, 64, 2


class ReplayBuffer(IterableDataset):
    def __init__(self):
        draw = numpy.random.default_rng(0)
        self.frames = draw.integers(0, 255, (CAPACITY, 3, SIDE, SIDE), dtype=numpy.uint8)
        self.actions, self.rewards = draw.normal(size=(CAPACITY, 6)).astype(numpy.float32), draw.random(CAPACITY)
        self.draw, self.next = draw, 0

    def add(self, frame, action):
        self.frames[self.next], self.actions[self.next] = frame, action
        self.next = (self.next + 1) % CAPACITY

    def sample(self, count):
        at = self.draw.integers(STACK, CAPACITY - 4, count)
        stack = self.frames[at[:, None] + numpy.arange(-STACK, 0)]
        later = self.frames[at[:, None] + 3 + numpy.arange(-STACK, 0)]
        return stack, self.actions[at], self.rewards[at], later

    def __iter__(self):
        while True:
            stack, action, reward, later = self.sample(BATCH)
            yield tuple(torch.from_numpy(part) for part in (stack, action, reward, later))


class Environment:
    """A chain of masses that pull at each other, and its picture."""

    def __init__(self):
        self.draw, self.position = numpy.random.default_rng(1), numpy.zeros((12, 2))

    def step(self, action):
        for _ in range(2):
            force = numpy.roll(self.position, 1, 0) + numpy.roll(self.position, -1, 0) - 2 * self.position
            self.position += 0.1 * force + self.draw.normal(0, 0.02, self.position.shape)
        frame = numpy.zeros((3, SIDE, SIDE), numpy.uint8)
        places = numpy.clip((self.position * 10 + SIDE / 2).astype(int), 0, SIDE - 1)
        frame[:, places[:, 0], places[:, 1]] = 255
        return frame


class DrQV2Agent:
    def __init__(self, gpu):
        self.gpu = gpu

    def act(self):
        self.gpu.launch(0.0003, "encoder, actor")
        self.gpu.item()
        return numpy.zeros(6, numpy.float32)

    def update(self, batch):
        self.gpu.copy(sum(part.nbytes for part in batch), pinned=True, non_blocking=True)
        self.gpu.launch(0.031, "shift, encoder, critic, backward, adam")
        self.gpu.launch(0.019, "actor, backward, adam, targets")


def main():
    torch.set_num_threads(1)
    gpu, frames = Device(spin=False, memory_used=4 << 30), 0
    agent, environment, buffer = DrQV2Agent(gpu), Environment(), ReplayBuffer()
    loader = None if FIX else iter(DataLoader(buffer, None, num_workers=1, pin_memory=True))
    while not over():
        action = agent.act()
        buffer.add(environment.step(action), action)
        frames += 1
        if frames % UPDATE_EVERY == 0:
            agent.update(buffer.sample(BATCH) if FIX else next(loader))
        if frames % 400 == 0:
            print(f"| train | F: {frames} | S: {frames // 2} | FPS: {gpu.item():.4f}", flush=True)
    done(gpu, frames)


if __name__ == "__main__":
    main()
