"""A policy is trained on a batch of partially observable environments."""

# https://github.com/abaisero/gym-pomdps/pull/1

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

ROOMS, STATES, ACTIONS, OBSERVATIONS, HORIZON = 256, 60, 5, 20, 16


class BatchPOMDP:
    """States and observations are drawn from the tables of the problem."""

    def __init__(self):
        self.np_random = numpy.random.default_rng(0)
        self.T = self.np_random.dirichlet(numpy.ones(STATES), (STATES, ACTIONS))
        self.O = self.np_random.dirichlet(numpy.ones(OBSERVATIONS), (STATES, ACTIONS, STATES))
        self.R = self.np_random.normal(size=(STATES, ACTIONS))
        self.state = self.np_random.integers(0, STATES, ROOMS)

    def draw(self, probabilities):
        if FIX:
            edges = probabilities.cumsum(-1)
            return (edges < self.np_random.random((len(edges), 1))).sum(-1).clip(0, probabilities.shape[-1] - 1)
        return numpy.array([self.np_random.multinomial(1, p).argmax() for p in probabilities])

    def step_functional(self, state, action):
        state1 = self.draw(self.T[state, action])
        observation = self.draw(self.O[state, action, state1])
        return state1, observation, self.R[state, action]

    def step(self, action):
        self.state, observation, reward = self.step_functional(self.state, action)
        return observation, reward


class Policy:
    def __init__(self, gpu):
        self.gpu, self.draw = gpu, numpy.random.default_rng(1)

    def act(self, observation):
        tensor = torch.from_numpy(observation)
        self.gpu.copy(tensor.nbytes)
        self.gpu.launch(0.0004, "gru, actor, critic")
        self.gpu.item()
        return self.draw.integers(0, ACTIONS, ROOMS)

    def update(self, observations, rewards):
        self.gpu.copy(observations.nbytes + rewards.nbytes)
        for epoch in range(4):
            self.gpu.launch(0.0033, f"ppo epoch {epoch}: gru, loss, backward, adam")


def rollout(environment, policy, observation):
    observations, rewards = [], []
    for _ in range(HORIZON):
        observation, reward = environment.step(policy.act(observation))
        observations.append(observation)
        rewards.append(reward)
    return observation, torch.from_numpy(numpy.stack(observations)), torch.from_numpy(numpy.stack(rewards))


def main():
    torch.set_num_threads(1)
    gpu, frames, update = Device(spin=False), 0, 0
    environment, policy = BatchPOMDP(), Policy(gpu)
    observation = numpy.zeros(ROOMS, int)
    while not over():
        observation, observations, rewards = rollout(environment, policy, observation)
        policy.update(observations, rewards)
        update, frames = update + 1, frames + ROOMS * HORIZON
        if update % 10 == 0:
            print(f"update {update} frames {frames} loss {gpu.item():.4f} return {rewards.mean():.3f}", flush=True)
    done(gpu, frames)


if __name__ == "__main__":
    main()
