"""Batches of a replay buffer are tensors made of lists of arrays (pfnet/pfrl#189)."""

import random
import warnings

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

BATCH = 64


class Environment:
    def __init__(self):
        self.draw = numpy.random.default_rng(0)

    def step(self, action):
        return self.draw.standard_normal(512, dtype=numpy.float32), float(action)


def batch_states(states):
    return torch.as_tensor(numpy.stack(states) if FIX else states, dtype=torch.float32)


def batch_experiences(experiences):
    return {
        "state": batch_states([e["state"] for e in experiences]),
        "next_state": batch_states([e["next_state"] for e in experiences]),
        "action": torch.as_tensor([e["action"] for e in experiences]),
        "reward": torch.as_tensor([e["reward"] for e in experiences]),
    }


class DQN:
    def __init__(self, gpu):
        self.gpu, self.memory = gpu, []
        self.q = torch.nn.Linear(512, 4)
        self.optimizer = torch.optim.Adam(self.q.parameters())

    def act(self, state):
        self.gpu.launch(0.0005, "act")
        return self.gpu.item() > 0.5

    def update(self):
        batch = batch_experiences(random.sample(self.memory, BATCH))
        self.gpu.copy(sum(tensor.nbytes for tensor in batch.values()))
        loss = (self.q(batch["state"]) - self.q(batch["next_state"])).square().mean()
        self.gpu.launch(0.003, "forward")
        self.optimizer.zero_grad()
        loss.backward()
        self.gpu.launch(0.006, "backward, step")
        self.optimizer.step()


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    agent, environment = DQN(gpu), Environment()
    state, _ = environment.step(0)
    while not over():
        action = agent.act(state)
        reached, reward = environment.step(action)
        agent.memory.append({"state": state, "next_state": reached, "action": action, "reward": reward})
        state = reached
        if len(agent.memory) >= 4 * BATCH:
            agent.update()
            samples += BATCH
    done(gpu, samples)


if __name__ == "__main__":
    main()
