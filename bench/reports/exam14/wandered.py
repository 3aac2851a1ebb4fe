"""A robot learns to pass through a crowd; eight crowds are simulated, and an actor and a critic watch them all."""

# https://github.com/DLR-RM/stable-baselines3/issues/1245

import multiprocessing
import time

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

ENVS, PEOPLE, N_STEPS, MINIBATCHES, RAYS, SIMULATE = 8, 20, 32, 8, 12, 0.0015


class RobotEnv:
    """A simulator runs the robot; each person is pushed away by all others, and drawn to where he wants to go."""

    def __init__(self, seed):
        draw = numpy.random.default_rng(seed)
        self.places, self.goals, self.speeds = (draw.normal(size=(PEOPLE, 2)) * 5 for _ in range(3))

    def step(self, action):
        time.sleep(SIMULATE)
        apart = self.places[:, None] - self.places[None]
        near = numpy.exp(-numpy.sqrt((apart**2).sum(-1) + 1e-3))
        push = (apart * near[..., None]).sum(1) - 0.1 * (self.places - self.goals)
        self.speeds = 0.9 * self.speeds + 0.1 * push
        self.places = self.places + 0.05 * self.speeds + 0.001 * action
        return numpy.sort(numpy.hypot(*self.places.T))[:RAYS].astype(numpy.float32)


class DummyVecEnv:
    def __init__(self, seeds):
        self.envs = [RobotEnv(seed) for seed in seeds]

    def step(self, actions):
        return numpy.stack([env.step(action) for env, action in zip(self.envs, actions, strict=True)])

    def close(self):
        pass


def serve(pipe, seeds):
    envs = DummyVecEnv(seeds)
    while (actions := pipe.recv()) is not None:
        pipe.send(envs.step(actions))


class SubprocVecEnv:
    def __init__(self, seeds):
        self.pipes, self.processes = [], []
        for seed in seeds:
            ours, theirs = multiprocessing.Pipe()
            process = multiprocessing.Process(target=serve, args=(theirs, [seed]), daemon=True)
            process.start()
            self.pipes.append(ours)
            self.processes.append(process)

    def step(self, actions):
        for number, pipe in enumerate(self.pipes):
            pipe.send(actions[number : number + 1])
        return numpy.concatenate([pipe.recv() for pipe in self.pipes])

    def close(self):
        for pipe, process in zip(self.pipes, self.processes, strict=True):
            pipe.send(None)
            process.join()


class A2C:
    def __init__(self, env, gpu):
        self.env, self.gpu, self.observations = env, gpu, numpy.zeros((ENVS, RAYS), numpy.float32)

    def collect_rollouts(self):
        for _ in range(N_STEPS):
            self.gpu.copy(self.observations.nbytes)
            self.gpu.launch(0.0004, "actor, critic")
            self.gpu.item()
            self.observations = self.env.step(numpy.random.normal(size=(ENVS, 2)))

    def train(self):
        for _ in range(MINIBATCHES):
            self.gpu.copy(N_STEPS * self.observations.nbytes // MINIBATCHES)
            self.gpu.launch(0.0046, "losses, backward, rmsprop")


def main():
    torch.set_num_threads(1)
    env = (SubprocVecEnv if FIX else DummyVecEnv)(list(range(ENVS)))
    gpu, samples, updates = Device(spin=False, memory_used=2 << 30), 0, 0
    model = A2C(env, gpu)
    while not over():
        model.collect_rollouts()
        model.train()
        samples, updates = samples + ENVS * N_STEPS, updates + 1
        if updates % 20 == 0:
            print(f"iterations {updates} total_timesteps {samples} value_loss {gpu.item():.3f}", flush=True)
    done(gpu, samples)
    env.close()


if __name__ == "__main__":
    main()
