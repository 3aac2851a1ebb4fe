"""Sixteen simple environments run in a process each, and the pipes cost more than the steps (openai/baselines#608)."""

import math
import multiprocessing
import random

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device


class CartPole:
    def reset(self):
        self.state, self.count = [random.uniform(-0.05, 0.05) for _ in range(4)], 0
        return numpy.array(self.state)

    def step(self, action):
        x, x_dot, theta, theta_dot = self.state
        force = 10.0 if action == 1 else -10.0
        temp = (force + 0.05 * theta_dot**2 * math.sin(theta)) / 1.1
        slope = 0.5 * (4 / 3 - 0.1 * math.cos(theta) ** 2 / 1.1)
        theta_acc = (9.8 * math.sin(theta) - math.cos(theta) * temp) / slope
        x_acc = temp - 0.05 * theta_acc * math.cos(theta) / 1.1
        self.state = [x + 0.02 * x_dot, x_dot + 0.02 * x_acc, theta + 0.02 * theta_dot, theta_dot + 0.02 * theta_acc]
        self.count += 1
        ended = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.21 or self.count >= 200
        return numpy.array(self.state), 1.0, ended, {}


def worker(remote, env):
    while True:
        cmd, data = remote.recv()
        if cmd == "step":
            ob, reward, ended, info = env.step(data)
            if ended:
                ob = env.reset()
            remote.send((ob, reward, ended, info))
        elif cmd == "reset":
            remote.send(env.reset())
        else:
            remote.close()
            return


class SubprocVecEnv:
    def __init__(self, count):
        pairs = [multiprocessing.Pipe() for _ in range(count)]
        self.remotes = [remote for remote, _ in pairs]
        self.ps = [multiprocessing.Process(target=worker, args=(work, CartPole()), daemon=True) for _, work in pairs]
        for p in self.ps:
            p.start()

    def reset(self):
        for remote in self.remotes:
            remote.send(("reset", None))
        return numpy.stack([remote.recv() for remote in self.remotes])

    def step(self, actions):
        for remote, action in zip(self.remotes, actions, strict=True):
            remote.send(("step", action))
        results = [remote.recv() for remote in self.remotes]
        obs, rews, dones, infos = zip(*results, strict=True)
        return numpy.stack(obs), numpy.stack(rews), numpy.stack(dones), infos

    def close(self):
        for remote in self.remotes:
            remote.send(("close", None))
        for p in self.ps:
            p.join()


class DummyVecEnv:
    def __init__(self, count):
        self.envs = [CartPole() for _ in range(count)]

    def reset(self):
        return numpy.stack([env.reset() for env in self.envs])

    def step(self, actions):
        results = []
        for env, action in zip(self.envs, actions, strict=True):
            ob, reward, ended, info = env.step(action)
            results.append((env.reset() if ended else ob, reward, ended, info))
        obs, rews, dones, infos = zip(*results, strict=True)
        return numpy.stack(obs), numpy.stack(rews), numpy.stack(dones), infos

    def close(self):
        pass


class Runner:
    def __init__(self, gpu, env, nsteps=32):
        self.gpu, self.env, self.nsteps, self.obs = gpu, env, nsteps, env.reset()
        self.policy = torch.nn.Linear(4, 2)

    @torch.no_grad()
    def run(self):
        mb_obs, mb_rewards = [], []
        for _ in range(self.nsteps):
            self.gpu.copy(self.obs.nbytes)
            actions = self.policy(torch.from_numpy(self.obs).float()).argmax(1)
            self.gpu.launch(0.0003, "policy")
            self.gpu.item()  # the actions
            mb_obs.append(self.obs)
            self.obs, rewards, _, _ = self.env.step(actions.tolist())
            mb_rewards.append(rewards)
        return numpy.stack(mb_obs), numpy.stack(mb_rewards)


def learn(gpu, env):
    samples, runner = 0, Runner(gpu, env)
    while not over():
        obs, _ = runner.run()
        gpu.copy(obs.nbytes)
        for _ in range(4):  # epochs over the minibatch
            gpu.launch(0.004, "train")
        gpu.item()
        samples += obs.shape[0] * obs.shape[1]
    return samples


def main():
    torch.set_num_threads(1)
    env = (DummyVecEnv if FIX else SubprocVecEnv)(16)
    gpu = Device(spin=False)
    done(gpu, learn(gpu, env))
    env.close()


if __name__ == "__main__":
    main()
