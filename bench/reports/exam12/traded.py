"""An agent trades shares in a simulated market; several markets are open at once."""

# https://github.com/AI4Finance-Foundation/ElegantRL/issues/249

import multiprocessing
import time

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

ENVS, HORIZON, STATE, ANSWER = 8, 64, 96, 0.0012


class StockTradingEnv:
    """Orders go to a matching engine, which answers after a moment."""

    def __init__(self, seed):
        self.draw, self.day = numpy.random.default_rng(seed), 0

    def reset(self):
        self.day = 0
        return self.draw.random(STATE, dtype=numpy.float32)

    def step(self, action):
        time.sleep(ANSWER)
        self.day += 1
        state = self.draw.random(STATE, dtype=numpy.float32)
        return state, float(action * state[0]), self.day % 250 == 0


class SubEnvs:
    """The same, each in a process of its own."""

    def __init__(self, count):
        self.pipes, self.processes = [], []
        for seed in range(count):
            near, far = multiprocessing.Pipe()
            process = multiprocessing.Process(target=self.serve, args=(far, seed), daemon=True)
            process.start()
            self.pipes.append(near)
            self.processes.append(process)

    @staticmethod
    def serve(pipe, seed):
        env = StockTradingEnv(seed)
        pipe.send(env.reset())
        while (action := pipe.recv()) is not None:
            pipe.send(env.step(action))

    def reset(self):
        return numpy.stack([pipe.recv() for pipe in self.pipes])

    def step(self, actions):
        for pipe, action in zip(self.pipes, actions, strict=True):
            pipe.send(float(action))
        states, rewards, ends = zip(*(pipe.recv() for pipe in self.pipes), strict=True)
        return numpy.stack(states), rewards, ends

    def close(self):
        for pipe in self.pipes:
            pipe.send(None)


class Envs:
    def __init__(self, count):
        self.envs = [StockTradingEnv(seed) for seed in range(count)]

    def reset(self):
        return numpy.stack([env.reset() for env in self.envs])

    def step(self, actions):
        states, rewards, ends = zip(*(e.step(a) for e, a in zip(self.envs, actions, strict=True)), strict=True)
        return numpy.stack(states), rewards, ends

    def close(self):
        pass


class AgentPPO:
    def __init__(self, gpu):
        self.gpu = gpu

    def get_action(self, states):
        self.gpu.copy(states.nbytes)
        self.gpu.launch(0.0003, "actor")
        return numpy.random.normal(size=len(states)) + self.gpu.item()

    def explore_env(self, env, states):
        for _ in range(HORIZON):
            states, _, _ = env.step(self.get_action(states))
        return states

    def update_net(self):
        for repeat in range(16):
            self.gpu.launch(0.004, f"actor, critic {repeat}")
        return self.gpu.item()


def main():
    torch.set_num_threads(1)
    env = SubEnvs(ENVS) if FIX else Envs(ENVS)
    gpu, samples, updates = Device(spin=False), 0, 0
    agent, states = AgentPPO(gpu), env.reset()
    while not over():
        states = agent.explore_env(env, states)
        loss = agent.update_net()
        updates, samples = updates + 1, samples + ENVS * HORIZON
        if updates % 5 == 0:
            print(f"{samples:.2e} | avgR {loss:8.2f} objC {loss:.2f}", flush=True)
    done(gpu, samples)
    env.close()


if __name__ == "__main__":
    main()
