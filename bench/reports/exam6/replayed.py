"""An agent learns Atari games by DQN from a large memory of what it saw."""

# https://github.com/sdpkjc/abcdrl/pull/31
# Cause: batches are drawn by numpy.random.choice(size, batch, replace=False), which shuffles all of the memory.
# Fix: draw with replacement (replace=True); one that draws few without shuffling all is as good.
# Line: 35, numpy.random.choice in sample.

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device


class Game:
    def __init__(self):
        self.frame = numpy.zeros((84, 84), numpy.uint8)

    def step(self, action):
        self.frame = numpy.roll(self.frame, action + 1, 1)
        return self.frame, float(action == 2), False


class ReplayBuffer:
    def __init__(self, capacity=1_000_000, filled=600_000):
        self.capacity, self.size, self.position = capacity, filled, filled
        self.actions, self.rewards = numpy.zeros(capacity, numpy.int64), numpy.zeros(capacity, numpy.float32)
        self.frames = numpy.zeros((4096, 84, 84), numpy.uint8)  # frames repeat here, as memory is short

    def add(self, frame, action, reward):
        i = self.position
        self.frames[i % len(self.frames)], self.actions[i], self.rewards[i] = frame, action, reward
        self.position, self.size = (i + 1) % self.capacity, min(self.size + 1, self.capacity)

    def sample(self, batch):
        idxs = numpy.random.choice(self.size, size=batch, replace=FIX)
        return self.frames[idxs % len(self.frames)], self.actions[idxs], self.rewards[idxs]


class Agent:
    def __init__(self, gpu):
        self.gpu = gpu

    def act(self, frame):
        self.gpu.copy(frame.nbytes)
        self.gpu.launch(0.0003, "q network")
        self.gpu.item()
        return int(frame[0, 0]) % 4

    def learn(self, frames, actions, rewards):
        self.gpu.copy(frames.nbytes + actions.nbytes + rewards.nbytes)
        self.gpu.launch(0.0025, "q network, target")
        self.gpu.launch(0.0035, "backward, adam")


def main():
    torch.set_num_threads(1)
    gpu, game, memory, samples, step = Device(spin=False), Game(), ReplayBuffer(), 0, 0
    agent, frame = Agent(gpu), game.frame
    while not over():
        action = agent.act(frame)
        frame, reward, _ = game.step(action)
        memory.add(frame, action, reward)
        step += 1
        if step % 4 == 0:
            agent.learn(*memory.sample(64))
            samples += 64
        if step % 1000 == 0:
            print(f"step {step}: td loss {gpu.item():.4f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
