"""An environment copies its whole state in each step, for the reward (QuTech-Delft/qgym#93)."""

import random
from copy import deepcopy

import networkx
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device


class RoutingState:
    def __init__(self, qubits=6):
        self.steps_done, self.position = 0, 0
        self.connection_graph = networkx.grid_2d_graph(qubits, qubits)
        self.interaction_circuit = [(random.randrange(36), random.randrange(36)) for _ in range(200)]
        self.mapping = numpy.arange(qubits * qubits)
        self.swap_gates_inserted = []

    def update_state(self, action):
        first, second = action % 36, (action * 7 + 1) % 36
        self.mapping[[first, second]] = self.mapping[[second, first]]
        self.swap_gates_inserted = [*self.swap_gates_inserted[-50:], (self.position, first, second)]
        self.position = (self.position + 1) % len(self.interaction_circuit)
        self.steps_done += 1

    def obtain_observation(self):
        return torch.from_numpy(self.mapping.astype(numpy.float32))


class Rewarder:
    def compute_reward(self, old_state, action, new_state):
        return float(new_state.position > old_state.position) - 0.1 * (action % 3 == 0)


class OldPosition:
    """All that this rewarder asks of the state before."""

    def __init__(self, state):
        self.position = state.position


class Environment:
    def __init__(self):
        self._state, self._rewarder = RoutingState(), Rewarder()

    def step(self, action):
        old_state = OldPosition(self._state) if FIX else deepcopy(self._state)
        self._state.update_state(action)
        reward = self._rewarder.compute_reward(old_state, action, self._state)
        return self._state.obtain_observation(), reward, self._state.steps_done % 500 == 0


class PPO:
    def __init__(self, env, n_steps=512):
        self.env, self.n_steps, self.gpu = env, n_steps, Device(spin=False)
        self.optimizer = torch.optim.Adam([torch.nn.Parameter(torch.zeros(8))], lr=3e-4)
        self.observation = torch.zeros(36)

    def collect_rollouts(self):
        rollout = []
        for _ in range(self.n_steps):
            self.gpu.copy(self.observation.nbytes)
            self.gpu.launch(0.0004, "policy")
            action = int(self.gpu.item()) + random.randrange(36)
            self.observation, reward, done_ = self.env.step(action)
            rollout.append((self.observation, action, reward, done_))
        return rollout

    def train(self, rollout):
        observations = torch.stack([row[0] for row in rollout])
        for _ in range(10):
            self.gpu.copy(observations.nbytes)
            self.gpu.launch(0.02, "forward, backward")
            self.optimizer.step()
            self.gpu.item()

    def learn(self):
        samples = 0
        while not over():
            rollout = self.collect_rollouts()
            self.train(rollout)
            samples += len(rollout)
        return samples


def main():
    torch.set_num_threads(1)
    model = PPO(Environment())
    done(model.gpu, model.learn())


if __name__ == "__main__":
    main()
