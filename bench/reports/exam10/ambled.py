"""A robot learns to walk like a man does: thousands of copies move in a simulation on the device, and a policy drives them."""

# https://github.com/gbionics/amp-rsl-rl/pull/70
# Cause: at each step of the simulation each kind of reward is averaged and read by the host, which then waits for the device.
# Fix: keep the sums on the device, and read them once after the rollout.
# Line: 53 to 57, 61 to 63, 74 to 75: log_rewards and log_episodes in AMPOnPolicyRunner.learn.

import torch
from common import FIX, done, over
from stoker.emulated import Device

ENVS, STEPS, TERMS = 4096, 24, 18


class VecEnv:
    """Copies of the robot on the device; what the host sees of the rewards is real."""

    def __init__(self, gpu):
        self.gpu, self.rewards = gpu, torch.rand(TERMS, 64)

    def step(self):
        for kernel in range(22):
            self.gpu.launch(0.00004, f"physics {kernel}")
        for kernel in range(10):
            self.gpu.launch(0.000015, f"observations, rewards {kernel}")
        return self.rewards


class ActorCritic:
    def __init__(self, gpu):
        self.gpu = gpu

    def act(self):
        for layer in range(6):
            self.gpu.launch(0.00002, f"actor, critic {layer}")

    def discriminate(self):
        for layer in range(3):
            self.gpu.launch(0.00002, f"discriminator {layer}")

    def update(self):
        for batch in range(20):
            self.gpu.launch(0.0004, f"forward {batch}")
            self.gpu.launch(0.0006, f"ppo, gradient penalty, backward, adam {batch}")


class AMPOnPolicyRunner:
    def __init__(self, gpu):
        self.gpu, self.env, self.policy = gpu, VecEnv(gpu), ActorCritic(gpu)
        self.sums, self.means, self.lengths = torch.zeros(TERMS), [0.0] * TERMS, []

    def log_rewards(self, rewards):
        for term in range(TERMS):
            value = rewards[term].mean()
            self.gpu.launch(0.000005, "mean")
            self.gpu.item()
            self.means[term] += value.item()

    def log_episodes(self, rewards):
        """Those whose episode is over."""
        self.gpu.launch(0.000005, "nonzero")
        self.gpu.item()
        self.lengths.extend(rewards[0, rewards[0] > 0.98].tolist())

    def learn(self):
        for _ in range(STEPS):
            self.policy.act()
            rewards = self.env.step()
            self.policy.discriminate()
            if FIX:
                self.sums += rewards.mean(1)
                self.gpu.launch(0.000008, "mean, add")
            else:
                self.log_rewards(rewards)
                self.log_episodes(rewards)
        if FIX:
            self.gpu.item()
            self.means, self.sums = self.sums.tolist(), torch.zeros(TERMS)
        self.policy.update()


def main():
    torch.set_num_threads(1)
    gpu, samples, iteration = Device(spin=False), 0, 0
    runner = AMPOnPolicyRunner(gpu)
    while not over():
        runner.learn()
        iteration, samples = iteration + 1, samples + ENVS * STEPS
        if iteration % 20 == 0:
            print(f"Learning iteration {iteration}: Mean reward: {sum(runner.means) / STEPS:.2f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
