"""An agent that learns more often from what surprised it."""

import random

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device


class SumTree:
    """Priorities in the leaves, sums above them."""

    def __init__(self, capacity):
        self.capacity, self.tree = capacity, [0.0] * (2 * capacity)

    def put(self, i, priority):
        i += self.capacity
        change = priority - self.tree[i]
        while i:
            self.tree[i] += change
            i //= 2

    def find(self, value):
        i = 1
        while i < self.capacity:
            i *= 2
            if value > self.tree[i]:
                value -= self.tree[i]
                i += 1
        return i - self.capacity

    def total(self):
        return self.tree[1]


class PrioritizedReplay:
    def __init__(self, capacity=16_384):
        self.capacity, self.position, self.size = capacity, 0, 0
        self.states = numpy.zeros((capacity, 24), numpy.float32)
        self.actions, self.rewards = numpy.zeros(capacity, numpy.int64), numpy.zeros(capacity, numpy.float32)
        self.priorities, self.sum = [0.0] * capacity, 0.0
        self.tree = SumTree(capacity)

    def set_priority(self, i, priority):
        if FIX:
            self.tree.put(i, priority)
        else:
            self.sum += priority - self.priorities[i]
            self.priorities[i] = priority

    def add_observation(self, state, action, reward):
        i = self.position
        self.states[i], self.actions[i], self.rewards[i] = state, action, reward
        self.set_priority(i, 1.0)
        self.position, self.size = (i + 1) % self.capacity, min(self.size + 1, self.capacity)

    def pick(self):
        if FIX:
            return min(self.tree.find(random.random() * self.tree.total()), self.size - 1)
        sample = random.random() * self.sum
        for n in range(self.size):
            sample -= self.priorities[n]
            if sample <= 0:
                return n
        return self.size - 1

    def get_batch(self, batch_size):
        self.batch = [self.pick() for _ in range(batch_size)]
        states = torch.from_numpy(self.states[self.batch])
        return states, torch.from_numpy(self.actions[self.batch]), torch.from_numpy(self.rewards[self.batch])

    def update_batch(self, losses):
        for i, loss in zip(self.batch, losses.tolist(), strict=True):
            self.set_priority(i, (abs(loss) + 1e-3) ** 0.6)


class Environment:
    def __init__(self, seed=0):
        self.draw, self.state = numpy.random.default_rng(seed), numpy.zeros(24, numpy.float32)
        self.matrix = self.draw.normal(0, 0.2, (24, 24)).astype(numpy.float32)

    def execute(self, action):
        self.state = numpy.tanh(self.matrix @ self.state + 0.1 * action + self.draw.normal(0, 0.1, 24).astype(numpy.float32))
        return self.state, float(self.state.sum())


class DQNModel:
    def __init__(self, gpu):
        self.gpu = gpu

    def act(self, state):
        self.gpu.copy(state.nbytes)
        self.gpu.launch(0.0003, "q values")
        self.gpu.item()
        return random.randrange(4)

    def update(self, batch):
        self.gpu.copy(sum(value.nbytes for value in batch))
        self.gpu.launch(0.007, "q, target q, loss, backward, adam")
        self.gpu.item()
        return torch.rand(len(batch[0]))


def main():
    torch.set_num_threads(1)
    random.seed(0)
    gpu, memory, environment, samples = Device(spin=False), PrioritizedReplay(), Environment(), 0
    model, state = DQNModel(gpu), environment.state
    for n in range(memory.capacity):
        memory.add_observation(environment.state, n % 4, 0.0)
    while not over():
        action = model.act(state)
        state, reward = environment.execute(action)
        memory.add_observation(state, action, reward)
        if samples % 2 == 0:
            losses = model.update(memory.get_batch(32))
            memory.update_batch(losses)
        samples += 1
        if samples % 200 == 0:
            print(f"timestep {samples}: reward {reward:.3f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
