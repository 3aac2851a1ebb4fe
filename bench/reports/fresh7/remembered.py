"""Deep Q-learning of Atari games: the replay memory is in host memory."""

# https://github.com/tambetm/simple_dqn/pull/8
# Cause: each minibatch is gathered state by state on the host, turned to CHWN, and copied: 260 steps a second.
# Fix: keep the screens and the states before and after in the GPU's memory, turn them there: 455 a second.
# Line: 47 to 54, getMinibatch (and the turning at 62 to 66).

import random

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

BATCH, HISTORY, SIDE = 32, 4, 84


class ReplayMemory:
    def __init__(self, size=20_000):
        self.size, self.count = size, size
        self.actions = numpy.random.randint(0, 4, size, dtype=numpy.uint8)
        self.rewards = numpy.zeros(size, dtype=numpy.int32)
        self.screens = numpy.zeros((size, SIDE, SIDE), dtype=numpy.uint8)
        self.terminals = numpy.random.random(size) < 0.002
        self.prestates = numpy.empty((BATCH, HISTORY, SIDE, SIDE), dtype=numpy.uint8)
        self.poststates = numpy.empty((BATCH, HISTORY, SIDE, SIDE), dtype=numpy.uint8)

    def getState(self, index):
        index = index % self.count
        return self.screens[index - (HISTORY - 1) : index + 1]

    def draw(self):
        indexes = []
        while len(indexes) < BATCH:
            index = random.randint(HISTORY, self.count - 1)
            if self.terminals[index - HISTORY : index].any():
                continue
            indexes.append(index)
        return indexes

    def getIndexes(self, gpu):
        indexes = numpy.array(self.draw())
        gpu.copy(indexes.nbytes * 2)
        gpu.launch(0.0001, "gather, transpose")
        return indexes

    def getMinibatch(self):
        """Copies of the states before and after."""
        indexes = []
        for index in self.draw():
            self.prestates[len(indexes)] = self.getState(index - 1)
            self.poststates[len(indexes)] = self.getState(index)
            indexes.append(index)
        return self.prestates, self.actions[indexes], self.rewards[indexes], self.poststates


class DeepQNetwork:
    def __init__(self, gpu):
        self.gpu, self.train_iterations = gpu, 0
        self.input = numpy.empty((HISTORY, SIDE, SIDE, BATCH), dtype=numpy.float32)

    def setInput(self, states):
        """Neon wants the batch last, from 0 to 1."""
        self.input[:] = states.transpose(1, 2, 3, 0)
        numpy.divide(self.input, 255, out=self.input)
        self.gpu.copy(self.input.nbytes)

    def train(self, memory):
        if FIX:
            memory.getIndexes(self.gpu)
        else:
            prestates, _, _, poststates = memory.getMinibatch()
            self.setInput(poststates)
        self.gpu.launch(0.0018, "target network")
        if not FIX:
            self.setInput(prestates)
        self.gpu.launch(0.0018, "network")
        self.gpu.item()
        self.gpu.launch(0.0036, "backward, rmsprop")
        self.train_iterations += 1


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    memory, network = ReplayMemory(), DeepQNetwork(gpu)
    while not over():
        network.train(memory)
        if network.train_iterations % 200 == 0:
            print(f"iteration {network.train_iterations}: cost {gpu.item():.3f}", flush=True)
    done(gpu, network.train_iterations * BATCH)


if __name__ == "__main__":
    main()
