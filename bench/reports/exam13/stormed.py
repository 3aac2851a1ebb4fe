"""Nodes of a graph on several machines are told apart; those without features get the mean of their neighbours'."""

# https://github.com/awslabs/graphstorm/pull/593

import time

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

NODES, DEGREE, WIDTH, SEEDS, FANOUT, RECONSTRUCTED, ANSWER = 100_000, 12, 64, 32, 4, 8, 0.0042


class DistGraph:
    """Neighbours of each node, and features of those that have any: other machines answer after a moment."""

    def __init__(self):
        draw = numpy.random.default_rng(0)
        self.neighbours = draw.integers(0, NODES, (NODES, DEGREE))
        self.features = draw.random((NODES, WIDTH), dtype=numpy.float32)
        self.draw = draw

    def sample(self, nodes, fanout):
        """Some neighbours of each node."""
        time.sleep(ANSWER)
        return self.neighbours[nodes][:, self.draw.permutation(DEGREE)[:fanout]].ravel()

    def pull(self, nodes):
        time.sleep(ANSWER)
        return self.features[nodes]


class FeatureReconstructor:
    """Features of a node that has none, from neighbours."""

    def __init__(self, graph):
        self.graph = graph

    def __call__(self, nodes):
        """Half of them have authors as neighbours, half have papers."""
        means = []
        for part in numpy.array_split(nodes, 2):
            rows = self.graph.pull(self.graph.sample(part, RECONSTRUCTED))
            means.append(rows.reshape(len(part), RECONSTRUCTED, WIDTH).mean(1))
        return torch.from_numpy(numpy.concatenate(means))


class MultiLayerNeighborSampler:
    """Runs in the loader's worker."""

    def __init__(self, graph, reconstruct=None):
        self.graph, self.reconstruct = graph, reconstruct

    def __call__(self, seeds):
        blocks = numpy.unique(self.graph.sample(seeds, FANOUT))
        return blocks, self.reconstruct(blocks) if self.reconstruct else None


class Seeds(Dataset):
    def __len__(self):
        return NODES

    def __getitem__(self, i):
        return i


class RGCN:
    def __init__(self, gpu):
        self.gpu = gpu

    def train_step(self, features):
        self.gpu.copy(features.nbytes)
        self.gpu.launch(0.0032, "rgcn")
        self.gpu.launch(0.0057, "backward, adam")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=8 << 30), 0, 0
    graph = DistGraph()
    model, reconstruct = RGCN(gpu), FeatureReconstructor(graph)
    sampler = MultiLayerNeighborSampler(graph, reconstruct if FIX else None)
    loader = DataLoader(Seeds(), SEEDS, shuffle=True, num_workers=2, collate_fn=sampler, persistent_workers=True)
    while not over():
        for blocks, features in loader:
            model.train_step(reconstruct(blocks) if features is None else features)
            step, samples = step + 1, samples + SEEDS
            if step % 50 == 0:
                print(f"Part 0 | Epoch 00000 | Batch {step:03d} | Train Loss: {gpu.item():.4f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
