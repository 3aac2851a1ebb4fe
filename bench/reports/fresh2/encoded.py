"""A matrix of path lengths is filled entry by entry on the device, in each forward pass (leffff/graphormer-pyg#35)."""

import random

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

NODES, LONGEST = 32, 5


def shortest_paths(neighbours):
    """The nodes on the way from each node to each other one."""
    paths = {}
    for source in range(NODES):
        found, front = {source: [source]}, [source]
        while front:
            front = [(node, near) for node in front for near in neighbours[node] if near not in found]
            for node, near in front:
                found[near] = [*found[node], near]
            front = list({near for _, near in front})
        paths[source] = found
    return paths


class Molecules(Dataset):
    def __init__(self, count=64):
        draw = random.Random(0)
        self.paths = []
        for _ in range(count):
            neighbours = [[n - 1, (n + 1) % NODES, draw.randrange(NODES)] for n in range(NODES)]
            neighbours[0][0] = NODES - 1
            self.paths.append(shortest_paths(neighbours))
        self.lengths = [torch.tensor([[len(p[s][d]) for d in range(NODES)] for s in range(NODES)]) for p in self.paths]

    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        number = i % len(self.paths)
        return torch.zeros(NODES, 9), self.lengths[number] if FIX else self.paths[number]


class SpatialEncoding(torch.nn.Module):
    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.b = gpu, torch.nn.Parameter(torch.randn(LONGEST))

    @torch.no_grad()
    def forward(self, x, paths):
        if FIX:
            self.gpu.launch(0.00005, "gather")
            return self.b[(paths - 1).clamp(max=LONGEST - 1)]
        spatial_matrix = torch.zeros((len(x), len(x)))
        for source in paths:
            for target in paths[source]:
                length = min(len(paths[source][target]), LONGEST)
                spatial_matrix[source][target] = self.b[length - 1]
                self.gpu.launch(0.000002, "index_put")
        return spatial_matrix


class Graphormer(torch.nn.Module):
    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.spatial_encoding = gpu, SpatialEncoding(gpu)

    def forward(self, graphs):
        for x, paths in graphs:
            self.gpu.copy(x.nbytes)
            self.spatial_encoding(x, paths)
        self.gpu.launch(0.02, "attention, backward")


def main():
    torch.set_num_threads(1)
    gpu = Device()
    model = Graphormer(gpu)
    loader = DataLoader(Molecules(), batch_size=4, shuffle=True, num_workers=1, collate_fn=list)
    samples = 0
    for graphs in loader:
        model(graphs)
        samples += len(graphs)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
