"""Positions of walkers, one tensor already, come one by one through a loader (NLESC-JCER/QMCTorch#127)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class WalkerDataSet(Dataset):
    def __init__(self, data):
        self.data = data

    def __len__(self):
        return self.data.shape[0]

    def __getitem__(self, index):
        return self.data[index, :]


class SimpleLoader:
    """Slices of the tensor."""

    def __init__(self, dataset, batch_size):
        self.dataset, self.batch_size = dataset, batch_size

    def __iter__(self):
        return iter(self.dataset.data.split(self.batch_size))


class Metropolis:
    """Moves walkers by chance, on the device."""

    def __init__(self, gpu, nwalkers, ndim, nstep=25):
        self.gpu, self.nstep, self.shape = gpu, nstep, (nwalkers, ndim)

    def __call__(self, pos=None):
        pos = torch.randn(self.shape) if pos is None else pos
        for _ in range(self.nstep):
            self.gpu.launch(0.0004, "propose, accept")
        self.gpu.item()
        return pos + 0.1 * torch.randn(self.shape)


class Solver:
    def __init__(self, wf, sampler, optimizer):
        self.wf, self.sampler, self.opt, self.gpu = wf, sampler, optimizer, sampler.gpu
        self.observables = {"energy": []}

    def evaluate_gradient(self, lpos):
        self.gpu.launch(0.005, "slater determinants, local energy, backward")
        self.opt.zero_grad()
        loss = self.wf(lpos[:16]).square().mean()
        loss.backward()
        return loss

    def run(self, batch_size):
        samples, pos = 0, self.sampler()
        dataset = WalkerDataSet(pos)
        dataloader = SimpleLoader(dataset, batch_size) if FIX else DataLoader(dataset, batch_size=batch_size)
        while not over():
            for data in dataloader:
                self.gpu.copy(data.nbytes)
                self.evaluate_gradient(data)
                self.opt.step()
                samples += len(data)
                if over():
                    break
            self.observables["energy"].append(self.gpu.item())
            pos = self.sampler(pos)
            dataset.data = pos
        return samples


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    wf = torch.nn.Sequential(torch.nn.Linear(12, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    sampler = Metropolis(gpu, nwalkers=20_000, ndim=12)
    solver = Solver(wf, sampler, torch.optim.Adam(wf.parameters(), lr=1e-3))
    done(gpu, solver.run(batch_size=5000))


if __name__ == "__main__":
    main()
