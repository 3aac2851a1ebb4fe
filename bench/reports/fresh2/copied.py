"""The whole replay buffer is copied for each batch that is drawn from it (TianhongDai/hindsight-experience-replay#1)."""

import threading

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

STEPS = 50


class ReplayBuffer:
    def __init__(self, episodes):
        shapes = {"obs": (STEPS + 1, 25), "ag": (STEPS + 1, 3), "g": (STEPS, 3), "actions": (STEPS, 4)}
        self.buffers = {key: numpy.zeros((episodes, *shape)) for key, shape in shapes.items()}
        self.size, self.current_size, self.lock = episodes, 0, threading.Lock()

    def store_episode(self, obs, ag, g, actions):
        with self.lock:
            place = self.current_size if self.current_size < self.size else numpy.random.randint(self.size)
            for key, values in zip(self.buffers, (obs, ag, g, actions), strict=True):
                self.buffers[key][place] = values
            self.current_size = min(self.size, self.current_size + 1)

    def sample(self, batch_size):
        temporary = {}
        with self.lock:
            for key, values in self.buffers.items():
                stored = values[: self.current_size]
                temporary[key] = stored if FIX else stored.copy()
        temporary["obs_next"] = temporary["obs"][:, 1:]
        temporary["ag_next"] = temporary["ag"][:, 1:]
        return sample_her_transitions(temporary, batch_size)


def sample_her_transitions(episodes, batch_size):
    number = numpy.random.randint(0, len(episodes["actions"]), batch_size)
    step = numpy.random.randint(STEPS, size=batch_size)
    transitions = {key: values[number, step].copy() for key, values in episodes.items()}
    later = numpy.random.uniform(size=batch_size) < 0.8
    future = step + (numpy.random.uniform(size=batch_size) * (STEPS - step)).astype(int)
    transitions["g"][later] = episodes["ag"][number[later], future[later] + 1]
    return transitions


class Agent:
    def __init__(self):
        self.gpu, self.buffer = Device(), ReplayBuffer(episodes=5000)
        while self.buffer.current_size < self.buffer.size:  # those of earlier cycles
            self.buffer.store_episode(0, 0, 0, 0)

    def update_network(self, batch_size=256):
        transitions = self.buffer.sample(batch_size)
        inputs = numpy.concatenate([transitions["obs"], transitions["g"]], axis=1)
        self.gpu.copy(torch.tensor(inputs, dtype=torch.float32).nbytes)
        self.gpu.launch(0.008, "actor, critic")
        self.gpu.item()  # the gradients, for MPI
        return len(inputs)

    def learn(self):
        samples = 0
        while True:
            self.buffer.store_episode(0, 0, 0, 0)
            for _ in range(40):
                samples += self.update_network()
                if over():
                    return samples


def main():
    torch.set_num_threads(1)
    agent = Agent()
    done(agent.gpu, agent.learn())


if __name__ == "__main__":
    main()
