"""Four humanoids learn to walk in a simulator that runs on the device."""

# https://github.com/RoboVerseOrg/RoboVerse/issues/69

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

ENVS, JOINTS, LOG_EVERY = 4, 19, 200
FIELDS = ("joint_pos", "joint_vel", "root_pos", "root_rot", "root_vel", "head", "left_foot", "right_foot", "torso")


class IsaacSim:
    """States stay on the device; tensors on the host stand for them."""

    def __init__(self, gpu):
        self.gpu, self.states = gpu, {field: torch.rand(ENVS, JOINTS) for field in FIELDS}

    def simulate(self):
        self.gpu.launch(0.0013, "physics")

    def get_states(self, field):
        return self.states[field]


def tolerance(x, lower, upper, margin):
    """1 within the bounds, and less the farther away."""
    inside = numpy.logical_and(lower <= x, x <= upper)
    distance = numpy.where(x < lower, lower - x, x - upper) / margin
    return float(numpy.where(inside, 1.0, numpy.exp(-0.5 * (distance * 1.5) ** 2)))


class StableReward:
    """Upright, at a height, forward, with little force."""

    def __call__(self, states):
        rewards = []
        for env in range(ENVS):
            upright = tolerance(states["torso"][env, 2], 0.9, numpy.inf, 1.9)
            standing = tolerance(states["head"][env, 2], 1.65, numpy.inf, 0.41)
            forces = [tolerance(velocity, 0, 0, 1) for velocity in states["joint_vel"][env, :10]]
            rewards.append(upright * standing * (4 + sum(forces) / len(forces)) / 5)
        return torch.tensor(rewards)


class HumanoidEnv:
    def __init__(self, gpu):
        self.gpu, self.sim, self.reward = gpu, IsaacSim(gpu), StableReward()

    def humanoid_obs_flatten_func(self):
        states = {}
        for field in FIELDS:
            values = self.sim.get_states(field)
            self.gpu.copy(values.nbytes)
            states[field] = values.numpy()
        obs = torch.from_numpy(numpy.concatenate(list(states.values()), 1))
        return obs, states

    def step(self):
        self.sim.simulate()
        if FIX:
            for kernel in (*FIELDS, "upright", "standing", "forces", "product"):
                self.gpu.launch(0.000004, kernel)
            return
        obs, states = self.humanoid_obs_flatten_func()
        rewards = self.reward(states)
        self.gpu.copy(obs.nbytes + rewards.nbytes)


class FastTD3:
    def __init__(self, gpu):
        self.gpu = gpu

    def act(self):
        self.gpu.launch(0.00009, "actor")

    def update(self):
        self.gpu.launch(0.00001, "sample from replay buffer")
        self.gpu.launch(0.0009, "critics, actor, adam")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=11 << 30), 0, 0
    env, agent = HumanoidEnv(gpu), FastTD3(gpu)
    while not over():
        agent.act()
        env.step()
        agent.update()
        step, samples = step + 1, samples + ENVS
        if step % LOG_EVERY == 0:
            print(f"global_step={step}, episode_return={gpu.item():.2f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
