"""Inverse reinforcement learning: a discriminator compares what a policy does with a million recorded steps of an expert."""

# https://github.com/keiohta/tf2rl/issues/126
# Cause: numpy's choice without replacement shuffles all the expert's million indices for each batch of a hundred.
# Fix: draw indices with replacement (randint): about a thousand times as fast.
# Line: 70 to 74, 83: expert_indices in IRLTrainer.step.

import numpy
from common import FIX, done, over
from stoker.emulated import Device

EXPERT, BATCH, OBS, ACT = 1_000_000, 100, 17, 6


class Halfcheetah:
    """Enough of a body to have states."""

    def __init__(self, draw):
        self.draw, self.drift = draw, draw.normal(0, 0.1, (OBS, OBS))
        self.state = numpy.zeros(OBS)

    def step(self, action):
        self.state = numpy.tanh(self.drift @ self.state + 0.1 * numpy.resize(action, OBS))
        return self.state, float(self.state[8])


class ReplayBuffer:
    def __init__(self, size=100_000):
        self.rows, self.filled = numpy.zeros((size, 2 * OBS + ACT + 1), numpy.float32), 0

    def add(self, *parts):
        self.rows[self.filled % len(self.rows)] = numpy.concatenate([numpy.atleast_1d(part) for part in parts])
        self.filled += 1

    def sample(self, draw, count):
        return self.rows[draw.integers(0, min(self.filled, len(self.rows)), count)]


class DDPG:
    def __init__(self, gpu):
        self.gpu = gpu

    def train(self, batch):
        self.gpu.copy(batch.nbytes)
        self.gpu.launch(0.0016, "critic, backward, adam")
        self.gpu.launch(0.0013, "actor, backward, adam")


class GAIL:
    batch_size = BATCH

    def __init__(self, gpu):
        self.gpu = gpu

    def train(self, agent, expert):
        self.gpu.copy(agent.nbytes + expert.nbytes)
        self.gpu.launch(0.0011, "discriminator")
        self.gpu.launch(0.0023, "gradient penalty, backward, adam")

    def inference(self, batch):
        self.gpu.launch(0.0004, "reward")


class IRLTrainer:
    def __init__(self, gpu, policy, irl, env, draw):
        self.gpu, self.policy, self.irl, self.env, self.draw = gpu, policy, irl, env, draw
        self.expert = draw.standard_normal((EXPERT, 2 * OBS), dtype=numpy.float32)
        self.buffer, self.random_range = ReplayBuffer(), numpy.arange(EXPERT)

    def expert_indices(self):
        if FIX:
            return numpy.random.randint(0, EXPERT, self.irl.batch_size)
        # Do not allow duplication!!!
        return numpy.random.choice(self.random_range, self.irl.batch_size, replace=False)

    def step(self):
        before, action = self.env.state, self.draw.uniform(-1, 1, ACT)
        after, reward = self.env.step(action)
        self.buffer.add(before, action, after, reward)
        if self.buffer.filled < BATCH:
            return 0
        batch = self.buffer.sample(self.draw, BATCH)
        self.irl.train(batch[:, : 2 * OBS], self.expert[self.expert_indices()])
        self.irl.inference(batch)
        self.policy.train(batch)
        return BATCH


def main():
    gpu, draw, samples, steps = Device(spin=False), numpy.random.default_rng(0), 0, 0
    trainer = IRLTrainer(gpu, DDPG(gpu), GAIL(gpu), Halfcheetah(draw), draw)
    while not over():
        samples += trainer.step()
        steps += 1
        if steps % 200 == 0:
            print(f"Total Epi: {steps // 100} Steps: {steps} Episode Steps: 100 Loss: {gpu.item():.4f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
