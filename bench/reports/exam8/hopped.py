"""TD3 teaches a leg to hop; its losses and values go to a run's history."""

# https://github.com/wandb/wandb/issues/950
# Cause: each number that is logged is written to two files with an fsync each, in the loop: 300 to 400 % more time.
# Fix: the history is written without fsync (by a separate process in later versions).
# Line: 63 and 69, fsync in History.add, from writer.add_scalar at 114.

import json
import os
import tempfile
import time

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

BATCH = 256


class Hopper:
    def __init__(self):
        self.state = numpy.zeros(11, numpy.float32)

    def step(self, action):
        self.state = 0.98 * self.state + 0.02 * numpy.tile(action, 4)[:11] + numpy.random.normal(0, 0.01, 11)
        return self.state, 1.0 + float(self.state[5]), abs(self.state[1]) > 0.7


class Memory:
    def __init__(self, size=100_000):
        self.observations, self.actions = numpy.zeros((size, 11), numpy.float32), numpy.zeros((size, 3), numpy.float32)
        self.rewards, self.count, self.size = numpy.zeros(size, numpy.float32), 0, size

    def put(self, observation, action, reward):
        at = self.count % self.size
        self.observations[at], self.actions[at], self.rewards[at] = observation, action, reward
        self.count += 1

    def get(self):
        chosen = numpy.random.randint(0, min(self.count, self.size), BATCH)
        return self.observations[chosen], self.actions[chosen], self.rewards[chosen]


def fsync(file):
    """A COMMIT goes to the server, and its answer comes when the server's disk has the bytes."""
    os.fsync(file.fileno())
    time.sleep(0.004)


class History:
    """Rows as JSON, and a summary with the newest value of each. The folder is a home on a file server."""

    def __init__(self, folder, durable):
        self.file = open(os.path.join(folder, "wandb-history.jsonl"), "w")
        self.summary, self.summary_file = {}, open(os.path.join(folder, "wandb-summary.json"), "w")
        self.durable = durable

    def add(self, row):
        self.file.write(json.dumps(row) + "\n")
        self.file.flush()
        if self.durable:
            fsync(self.file)
        self.summary.update(row)
        self.summary_file.seek(0)
        self.summary_file.write(json.dumps(self.summary))
        self.summary_file.flush()
        if self.durable:
            fsync(self.summary_file)

    def close(self):
        self.file.close()
        self.summary_file.close()


class SummaryWriter:
    def __init__(self, history):
        self.history = history

    def add_scalar(self, tag, value, step):
        self.history.add({tag: float(value), "global_step": step})


class TD3:
    def __init__(self, gpu):
        self.gpu, self.actor = gpu, torch.nn.Linear(11, 3)

    @torch.no_grad()
    def act(self, state):
        return torch.tanh(self.actor(torch.from_numpy(numpy.asarray(state, numpy.float32)))).numpy()

    def learn(self, batch):
        self.gpu.copy(sum(array.nbytes for array in batch))
        self.gpu.launch(0.0021, "critics, backward, adam")
        self.gpu.launch(0.0016, "actor, backward, adam")
        self.gpu.launch(0.0003, "target networks")
        return self.gpu.item()


def main():
    torch.set_num_threads(1)
    gpu, hopper, memory, score = Device(spin=False), Hopper(), Memory(), 0.0
    agent, state = TD3(gpu), hopper.state
    with tempfile.TemporaryDirectory() as folder:
        history = History(folder, durable=not FIX)
        writer, step = SummaryWriter(history), 0
        while not over():
            action = agent.act(state) + numpy.random.normal(0, 0.1, 3).astype(numpy.float32)
            state, reward, fallen = hopper.step(action)
            memory.put(state, action, reward)
            loss, score, step = agent.learn(memory.get()), score + reward, step + 1
            if step % 2 == 0:
                for tag in ("losses/qf1_loss", "losses/qf2_loss", "losses/actor_loss"):
                    writer.add_scalar(tag, loss, step)
            if fallen or step % 1000 == 0:
                print(f"global_step={step}, episode_reward={score}", flush=True)
                writer.add_scalar("charts/episode_reward", score, step)
                hopper.state, score = numpy.zeros(11, numpy.float32), 0.0
        done(gpu, step)
        history.close()


if __name__ == "__main__":
    main()
