"""States are lists of Python numbers, which become tensors in each step (JDBumgardner/stone_ground_hearth_battles#19)."""

import random

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

PLAYERS, CARDS, FEATURES = 1, 16, 60


class ReplayBuffer:
    """Transitions: what the player has, and each card in sight."""

    def __init__(self, size=2000):
        draw = random.Random(0)
        row = [float(draw.randint(0, 9)) for _ in range(FEATURES)]
        self.states = [[list(row) for _ in range(CARDS)] for _ in range(size)]
        if FIX:
            self.states = numpy.array(self.states, numpy.float32)

    def sample(self, batch_size):
        if FIX:
            return self.states[numpy.random.randint(0, len(self.states), batch_size)]
        return [self.states[random.randrange(len(self.states))] for _ in range(batch_size)]


def tensorize_batch(states):
    if FIX:
        return torch.from_numpy(states)
    return torch.tensor(states)


def main():
    torch.set_num_threads(1)
    gpu, replay_buffer, samples = Device(spin=False), ReplayBuffer(), 0
    parameter = torch.nn.Parameter(torch.zeros(8))
    optimizer = torch.optim.Adam([parameter], lr=1e-4)
    while not over():
        states = tensorize_batch(replay_buffer.sample(256))
        gpu.copy(states.nbytes)
        gpu.launch(0.008, "policy and value, backward")
        parameter.grad = torch.zeros(8)
        optimizer.step()
        gpu.item()
        samples += len(states)
    done(gpu, samples)


if __name__ == "__main__":
    main()
