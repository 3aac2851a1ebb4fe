"""A game of bricks and a ball is learned from a long memory of what was played."""

# https://github.com/ageron/handson-ml/pull/204

from collections import deque

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

MEMORY, FILLED, BATCH, SIDE = 600_000, 500_000, 50, 84
EVERY = 4


class Breakout:
    """The ball flies; the paddle moves."""

    def __init__(self):
        self.screen, self.ball = numpy.zeros((SIDE, SIDE), numpy.uint8), 0

    def step(self, action):
        self.ball = (self.ball + 1 + action) % SIDE
        self.screen[self.ball] = 255 - self.screen[self.ball]
        return self.screen, float(self.ball == 0), self.ball == SIDE - 1


class ReplayMemory:
    """The newest experiences, in a ring."""

    def __init__(self, maxlen):
        self.buffer, self.maxlen, self.index = [], maxlen, 0

    def append(self, experience):
        if len(self.buffer) < self.maxlen:
            self.buffer.append(experience)
        else:
            self.buffer[self.index] = experience
            self.index = (self.index + 1) % self.maxlen

    def __len__(self):
        return len(self.buffer)

    def __getitem__(self, i):
        return self.buffer[i]


def sample_memories(memory, batch_size):
    if FIX:
        indices = numpy.random.randint(len(memory), size=batch_size)
    else:
        indices = numpy.random.permutation(len(memory))[:batch_size]
    columns = [[], [], [], []]
    for i in indices:
        for column, value in zip(columns, memory[i], strict=True):
            column.append(value)
    return [numpy.array(column) for column in columns]


class DeepQ:
    def __init__(self, gpu):
        self.gpu = gpu

    def act(self, screen):
        self.gpu.copy(screen.nbytes)
        self.gpu.launch(0.0004, "q values")
        return int(self.gpu.item()) + numpy.random.randint(4)

    def train(self, states):
        self.gpu.copy(states.nbytes)
        self.gpu.launch(0.0026, "online, target, loss")
        self.gpu.launch(0.0054, "backward, momentum")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    agent, game = DeepQ(gpu), Breakout()
    memory = ReplayMemory(MEMORY) if FIX else deque([], maxlen=MEMORY)
    for i in range(FILLED):
        memory.append((game.screen, i % 4, 0.0, False))
    screen = game.screen
    while not over():
        action = agent.act(screen)
        screen, reward, ended = game.step(action)
        memory.append((screen.copy(), action, reward, ended))
        step += 1
        if step % EVERY == 0:
            states, *_ = sample_memories(memory, BATCH)
            agent.train(states)
            samples += BATCH
        if step % 400 == 0:
            print(f"Iteration {step}\tTraining step {step // EVERY}\tLoss {gpu.item():5f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
