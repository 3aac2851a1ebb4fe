"""Parts of objects are found in clouds of points; each layer joins every point to its nearest."""

# https://github.com/dmlc/dgl/pull/2868

import numpy
import torch
from common import FIX, done, over
from scipy.spatial import cKDTree
from stoker.emulated import Device

BATCH, POINTS, NEAREST, CHANNELS, LAYERS = 8, 384, 16, 3, 4


def knn_graph(gpu, coords):
    """Edges from the nearest points to each point of each cloud."""
    if FIX:
        gpu.launch(0.0006, "distances")
        gpu.launch(0.0003, "topk")
        return None
    gpu.item()
    coords, sources = coords.numpy(), []
    for number, cloud in enumerate(coords):
        _, nearest = cKDTree(cloud).query(cloud, NEAREST)
        sources.append(nearest + number * POINTS)
    targets = numpy.arange(BATCH * POINTS).repeat(NEAREST)
    edges = torch.from_numpy(numpy.stack([numpy.concatenate(sources).ravel(), targets]))
    gpu.copy(edges.nbytes)
    return edges


class EdgeConv:
    def __init__(self, gpu, number):
        self.gpu, self.number = gpu, number

    def __call__(self, coords):
        knn_graph(self.gpu, coords)
        self.gpu.launch(0.0011, f"messages {self.number}")
        self.gpu.launch(0.0009, f"reduce, norm {self.number}")
        return torch.tanh(coords * 1.05)


class DGCNN:
    def __init__(self, gpu):
        self.gpu, self.convs = gpu, [EdgeConv(gpu, number) for number in range(LAYERS)]

    def train_step(self, coords):
        self.gpu.copy(coords.nbytes)
        for conv in self.convs:
            coords = conv(coords)
        self.gpu.launch(0.0021, "pool, classifier")
        self.gpu.launch(0.0094, "backward, sgd")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=5 << 30), 0, 0
    model, clouds = DGCNN(gpu), torch.rand(32, BATCH, POINTS, CHANNELS)
    while not over():
        model.train_step(clouds[step % 32])
        step, samples = step + 1, samples + BATCH
        if step % 50 == 0:
            print(f"{step} AverageLoss: {gpu.item():.5f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
