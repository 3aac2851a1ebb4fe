"""The bounds of all trajectories of a large buffer are found again for each batch (pytorch/rl#2669)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device


class SliceSampler:
    def __init__(self, num_slices, slice_len, traj_key, cache_values):
        self.num_slices, self.slice_len, self.traj_key = num_slices, slice_len, traj_key
        self.cache_values, self.cache = cache_values, {}

    def find_start_stop_traj(self, trajectory):
        change = trajectory[1:] != trajectory[:-1]
        stop = torch.cat([change.nonzero().squeeze(1), torch.tensor([len(trajectory) - 1])])
        start = torch.cat([torch.zeros(1, dtype=torch.long), stop[:-1] + 1])
        return start, stop, stop - start + 1

    def get_stored_indices(self, storage):
        if self.cache_values and "stop-and-length" in self.cache:
            return self.cache["stop-and-length"]
        vals = self.find_start_stop_traj(storage[self.traj_key])
        if self.cache_values:
            self.cache["stop-and-length"] = vals
        return vals

    def sample(self, storage):
        start, _, lengths = self.get_stored_indices(storage)
        chosen = torch.randint(0, len(start), (self.num_slices,))
        offset = (torch.rand(self.num_slices) * (lengths[chosen] - self.slice_len + 1)).long()
        return (start[chosen] + offset).unsqueeze(1) + torch.arange(self.slice_len)


class ReplayBuffer:
    def __init__(self, sampler, size=8_000_000):
        self.sampler = sampler
        self.storage = {"episode": torch.arange(size) // 500, "obs": torch.zeros(size, 4), "reward": torch.zeros(size)}

    def sample(self):
        index = self.sampler.sample(self.storage)
        return self.storage["obs"][index], self.storage["reward"][index]


class TDMPC2:
    def __init__(self):
        self.gpu = Device(spin=False)
        self.optim = torch.optim.Adam([torch.nn.Parameter(torch.zeros(8))], lr=3e-4)

    def update(self, buffer):
        obs, reward = buffer.sample()
        self.gpu.copy(obs.nbytes + reward.nbytes)
        self.gpu.launch(0.02, "world model, policy, backward")
        self.optim.step()
        self.gpu.item()
        return len(obs)


def main():
    torch.set_num_threads(1)
    buffer = ReplayBuffer(SliceSampler(256, 4, traj_key="episode", cache_values=FIX))
    agent, samples = TDMPC2(), 0
    while not over():
        samples += agent.update(buffer)
    done(agent.gpu, samples)


if __name__ == "__main__":
    main()
