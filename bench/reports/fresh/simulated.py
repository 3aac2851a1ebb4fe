"""The environment is simulated in Python, in the process that trains (Farama-Foundation/HighwayEnv#103)."""

import math
import multiprocessing

import torch
from common import FIX, done, over
from stoker.emulated import Device


class Highway:
    def __init__(self, vehicles=150):
        self.positions = [float(n) for n in range(vehicles)]
        self.speeds = [20.0 + n % 5 for n in range(vehicles)]

    def step(self, action):
        for n, position in enumerate(self.positions):
            gap = min((other - position for other in self.positions if other > position), default=100.0)
            self.speeds[n] += 0.1 * (1 - math.exp(-gap / 10)) - 0.05 * (self.speeds[n] / 30) ** 4 + 0.01 * action
            self.positions[n] = position + 0.05 * self.speeds[n]
        return self.positions, self.speeds[0]


def play(connection):
    env = Highway()
    while True:
        connection.send([env.step(1) for _ in range(16)])
        connection.recv()


def main():
    torch.set_num_threads(1)
    gpu, policy, env = Device(spin=False), torch.nn.Linear(150, 4), Highway()
    pipes = [multiprocessing.Pipe() for _ in range(2 if FIX else 0)]
    for _, there in pipes:
        multiprocessing.Process(target=play, args=(there,), daemon=True).start()
    samples, turn = 0, 0
    while not over():
        if FIX:
            rollout = pipes[turn][0].recv()
            pipes[turn][0].send(None)
            turn = 1 - turn
        else:
            rollout = [env.step(1) for _ in range(16)]
        states = torch.tensor([state for state, _ in rollout])
        policy(states)
        gpu.copy(states.nbytes)
        gpu.launch(0.008, "update")
        gpu.item()
        samples += len(rollout)
    done(gpu, samples)


if __name__ == "__main__":
    main()
