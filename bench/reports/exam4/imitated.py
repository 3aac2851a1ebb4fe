"""A batch of a million expert steps is drawn without replacement in each step (keiohta/tf2rl#126)."""

import random

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch import nn

EXPERT_STEPS = 1_000_000


class Walker:
    """A simulated body: about half a millisecond a step."""

    def __init__(self):
        self.draw = numpy.random.default_rng(0)
        self.mass, self.state = self.draw.random((17, 17)), numpy.zeros(17)

    def reset(self):
        self.state = self.draw.standard_normal(17)
        return self.state

    def step(self, action):
        for _ in range(20):
            force = numpy.concatenate([action, self.state[:11]])
            self.state = self.state + 0.002 * (numpy.linalg.solve(self.mass + 9 * numpy.eye(17), force) - self.state)
        return self.state, float(self.state[0]), self.draw.random() < 0.001


class Buffer:
    def __init__(self, size=100_000):
        self.obs, self.act = numpy.zeros((size, 17), numpy.float32), numpy.zeros((size, 6), numpy.float32)
        self.index, self.full, self.size = 0, 0, size

    def add(self, obs, act):
        self.obs[self.index], self.act[self.index] = obs, act
        self.index, self.full = (self.index + 1) % self.size, min(self.full + 1, self.size)

    def sample(self, count):
        chosen = numpy.random.randint(0, self.full, count)
        return {"obs": self.obs[chosen], "act": self.act[chosen]}


class Learner:
    """A small network whose work is on the device."""

    def __init__(self, gpu, name, seconds, sizes):
        self.gpu, self.name, self.seconds = gpu, name, seconds
        self.net = nn.Sequential(*(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:], strict=False)))

    def train(self, *arrays):
        self.gpu.copy(sum(array.nbytes for array in arrays))
        self.gpu.launch(self.seconds, self.name)


class SAC(Learner):
    @torch.no_grad()
    def get_action(self, obs):
        self.gpu.launch(0.0004, "actor")
        self.gpu.item()
        return torch.tanh(self.net(torch.as_tensor(obs, dtype=torch.float32))).numpy()


class IRLTrainer:
    def __init__(self, policy, env, irl, expert_obs, expert_act, batch_size=100):
        self.policy, self.env, self.irl, self.batch_size = policy, env, irl, batch_size
        self.expert_obs, self.expert_act = expert_obs, expert_act
        self.random_range = range(expert_obs.shape[0])
        self.buffer = Buffer()

    def draw_expert(self):
        # Do not allow duplication!!!
        if FIX:
            return random.sample(self.random_range, self.batch_size)
        return numpy.random.choice(self.random_range, self.batch_size, replace=False)

    def __call__(self):
        obs, total_steps = self.env.reset(), 0
        while not over():
            action = self.policy.get_action(obs)
            next_obs, _, ended = self.env.step(action)
            self.buffer.add(obs, action)
            obs = self.env.reset() if ended else next_obs
            total_steps += 1
            if total_steps < 100:
                continue
            batch = self.buffer.sample(self.batch_size)
            self.policy.train(batch["obs"], batch["act"])
            indices = self.draw_expert()
            self.irl.train(batch["obs"], batch["act"], self.expert_obs[indices], self.expert_act[indices])
        return total_steps


def main():
    torch.set_num_threads(1)
    gpu, draw = Device(spin=False), numpy.random.default_rng(1)
    expert = draw.random((EXPERT_STEPS, 17), numpy.float32), draw.random((EXPERT_STEPS, 6), numpy.float32)
    policy = SAC(gpu, "critics, actor, temperature", 0.006, [17, 32, 6])
    trainer = IRLTrainer(policy, Walker(), Learner(gpu, "discriminator", 0.003, [23, 32, 1]), *expert)
    done(gpu, trainer())


if __name__ == "__main__":
    main()
