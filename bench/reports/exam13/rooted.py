"""Kinds of animals are embedded in a ball: kinds that are related come near, others do not."""

# https://github.com/maxvanspengler/hyperbolic_learning_library/issues/59

import random

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

NODES, PARENTS, NEGATIVES, BATCH = 6000, 6, 10, 64


def hierarchy():
    """Each kind and what it is a kind of."""
    draw = random.Random(0)
    return {node: {draw.randrange(node) for _ in range(PARENTS)} for node in range(PARENTS, NODES)}


class MammalsEmbeddingDataset(Dataset):
    def __init__(self, relations):
        self.neighbours, self.nodes = relations, list(range(NODES))
        self.edges_list = [(node, parent) for node, parents in relations.items() for parent in sorted(parents)]

    def __len__(self):
        return len(self.edges_list)

    def negatives(self, node):
        """Some of all nodes that are not related to this one."""
        related = self.neighbours[node]
        if FIX:
            drawn = []
            while len(drawn) < NEGATIVES:
                other = random.randrange(NODES)
                if other != node and other not in related:
                    drawn.append(other)
            return drawn
        unrelated = [other for other in self.nodes if other != node and other not in related]
        return random.sample(unrelated, NEGATIVES)

    def __getitem__(self, i):
        node, parent = self.edges_list[i]
        edges = [[node, parent], *([node, other] for other in self.negatives(node))]
        return torch.tensor(edges), torch.tensor([True] + NEGATIVES * [False])


class PoincareEmbedding:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, edges, labels):
        self.gpu.copy(edges.nbytes + labels.nbytes)
        self.gpu.launch(0.0019, "distances in the ball")
        self.gpu.launch(0.0044, "loss, backward, riemannian sgd")


def main():
    torch.set_num_threads(1)
    gpu, samples, epoch, step = Device(spin=False), 0, 0, 0
    model = PoincareEmbedding(gpu)
    dataset = MammalsEmbeddingDataset(hierarchy())
    loader = DataLoader(dataset, BATCH, shuffle=True, num_workers=1, persistent_workers=True)
    while not over():
        for edges, labels in loader:
            model.step(edges, labels)
            step, samples = step + 1, samples + len(edges)
            if step % 100 == 0:
                print(f"Epoch {epoch} step {step} training loss {gpu.item():.3f}", flush=True)
            if over():
                break
        epoch += 1
    done(gpu, samples)


if __name__ == "__main__":
    main()
