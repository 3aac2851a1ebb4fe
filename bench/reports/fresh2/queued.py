"""Transitions are drawn at random out of a long collections.deque, which walks to each of them (coax-dev/coax#25)."""

import random
from collections import deque

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device


class SimpleReplayBuffer:
    def __init__(self, capacity):
        self.capacity, self.index = capacity, 0
        self.storage = [] if FIX else deque(maxlen=capacity)

    def add(self, transition):
        if not FIX or len(self.storage) < self.capacity:
            self.storage.append(transition)
        else:
            self.storage[self.index] = transition
        self.index = (self.index + 1) % self.capacity

    def sample(self, batch_size):
        transitions = random.sample(self.storage, batch_size)
        return [torch.from_numpy(numpy.stack(leaves)) for leaves in zip(*transitions, strict=True)]

    def __len__(self):
        return len(self.storage)


class Walker:
    def __init__(self):
        self.state = numpy.zeros(24, numpy.float32)

    def step(self, action):
        self.state = self.state * numpy.float32(0.99) + action
        return self.state, numpy.float32(self.state.sum())


def main():
    torch.set_num_threads(1)
    gpu, env, buffer, samples = Device(), Walker(), SimpleReplayBuffer(2_000_000), 0
    filler = (env.state, env.state, numpy.float32(0))
    while len(buffer) < buffer.capacity:  # steps of earlier episodes
        buffer.add(filler)
    while not over():
        before = env.state
        after, reward = env.step(numpy.random.rand(24).astype(numpy.float32))
        buffer.add((before, after, reward))
        batch = buffer.sample(batch_size=256)
        for part in batch:
            gpu.copy(part.nbytes)
        gpu.launch(0.006, "actor, critic")
        gpu.item()  # metrics
        samples += len(batch[0])
    done(gpu, samples)


if __name__ == "__main__":
    main()
