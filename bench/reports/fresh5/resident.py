"""A data set on the device is indexed sample by sample (pytorch/pytorch#106704)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler


class OnDevice(Dataset):
    """Each index is a kernel, and each batch one that stacks."""

    def __init__(self, gpu, x, y):
        self.gpu, self.x, self.y = gpu, x, y

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        for name in ("index", "index"):
            self.gpu.launch(0.000003, name)
        return self.x[i], self.y[i]


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = OnDevice(gpu, torch.rand(50_000, 16), torch.rand(50_000, 1))
    if FIX:
        loader = DataLoader(data, batch_size=None, sampler=BatchSampler(RandomSampler(data), 1000, False))
    else:
        loader = DataLoader(data, batch_size=1000, shuffle=True)
    while not over():
        for step, (x, y) in enumerate(loader):
            gpu.launch(0.004, "forward")
            loss = (model(x) - y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            gpu.launch(0.006, "backward, step")
            optimizer.step()
            samples += len(x)
            if step % 50 == 0:
                gpu.item()
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
