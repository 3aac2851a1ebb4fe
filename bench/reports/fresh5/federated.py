"""Each client of each round gets a loader with its own workers (shaoxiongji/federated-learning#38)."""

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Shard(Dataset):
    def __len__(self):
        return 320

    def __getitem__(self, i):
        return torch.full((16,), 0.01 * (i % 9))


def get_parameters(net):
    return [value.cpu().numpy().copy() for value in net.state_dict().values()]


def set_parameters(net, parameters):
    net.load_state_dict({name: torch.from_numpy(p) for name, p in zip(net.state_dict(), parameters, strict=True)})


class FlowerClient:
    def __init__(self, net, gpu, cid):
        self.net, self.gpu, self.cid = net, gpu, cid
        self.trainloader = DataLoader(Shard(), batch_size=32, shuffle=True, num_workers=0 if FIX else 2)

    def fit(self, parameters):
        set_parameters(self.net, parameters)
        optimizer, samples = torch.optim.SGD(self.net.parameters(), lr=0.01), 0
        for x in self.trainloader:
            self.gpu.copy(x.nbytes)
            self.gpu.launch(0.003, "forward")
            loss = self.net(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            self.gpu.launch(0.005, "backward, step")
            optimizer.step()
            samples += len(x)
        self.gpu.item()
        return get_parameters(self.net), samples


def simulate(gpu, net, clients=10):
    parameters, samples = get_parameters(net), 0
    while not over():
        results = []
        for cid in range(clients):
            new, count = FlowerClient(net, gpu, cid).fit(parameters)
            results.append(new)
            samples += count
            if over():
                break
        parameters = [numpy.mean(layer, axis=0) for layer in zip(*results, strict=True)]
    return samples


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    done(gpu, simulate(gpu, torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Linear(16, 1))))


if __name__ == "__main__":
    main()
