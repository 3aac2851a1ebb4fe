"""Each person of a social graph becomes a vector: walks around a person give a small graph, which a network reads."""

# https://github.com/THUDM/GCC/issues/7

import random
import time

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

PEOPLE, FRIENDS, HOPS, RESTART, WORKERS, READ = 1024, 16, 50, 0.8, 2, 0.0009
NAMES = ("usa_airport", "h-index", "kdd", "icdm", "sigir")


class Graph:
    def __init__(self, seed):
        draw = random.Random(seed)
        self.friends = [[draw.randrange(PEOPLE) for _ in range(FRIENDS)] for _ in range(PEOPLE)]


class NodeClassificationDataset(Dataset):
    """An item is what random walks with restart come by in a part of the graph, which is read from a file."""

    def __init__(self, graph):
        self.graph = graph

    def __len__(self):
        return PEOPLE

    def __getitem__(self, person):
        time.sleep(READ)
        draw, here, met = random.Random(person), person, {}
        for _ in range(HOPS):
            here = person if draw.random() > RESTART else draw.choice(self.graph.friends[here])
            met[here] = met.get(here, 0) + 1
        count = torch.zeros(PEOPLE)
        count[list(met)] = torch.tensor([float(times) for times in met.values()])
        return count


class GraphEncoder:
    def __init__(self, gpu):
        self.gpu = gpu

    def __call__(self, batch):
        self.gpu.copy(batch.nbytes)
        for layer in range(5):
            self.gpu.launch(0.00006 * len(batch), f"gin layer {layer}")
        self.gpu.item()
        return torch.zeros(len(batch), 64)


def main():
    torch.set_num_threads(1)
    gpu, samples, number = Device(spin=False, memory_used=4 << 30), 0, 0
    model = GraphEncoder(gpu)
    while not over():
        name = NAMES[number % len(NAMES)]
        train_dataset = NodeClassificationDataset(Graph(number))
        batch_size = 32 if FIX else len(train_dataset)
        loader = DataLoader(train_dataset, batch_size=batch_size, num_workers=WORKERS)
        embeddings = []
        for batch in loader:
            embeddings.append(model(batch))
            samples += len(batch)
        number += 1
        print(f"{name}: embeddings {tuple(torch.cat(embeddings).shape)}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
