"""GraphSAGE on a graph of products: the neighbours of each batch are drawn on the CPU."""

# https://github.com/dmlc/dgl/pull/2716
# Cause: workers draw neighbours of three layers for each batch: an epoch takes 5.75 s with four of them.
# Fix: draw them on the GPU, without workers: 1.69 s.
# Line: 33 to 50, sample_neighbors, to_block and sample_blocks, in the worker.

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader

NODES, BATCH, FANOUTS = 60_000, 500, (15, 10, 5)


class Graph:
    """Edges in CSR, as many to a node as it has."""

    def __init__(self):
        draw = numpy.random.default_rng(1)
        degrees = 3 + draw.geometric(0.04, NODES)
        self.indptr = numpy.concatenate([[0], degrees.cumsum()])
        self.indices = draw.integers(0, NODES, self.indptr[-1])
        self.degrees = degrees


class MultiLayerNeighborSampler:
    def __init__(self, graph, fanouts):
        self.graph, self.fanouts = graph, fanouts
        self.draw = numpy.random.default_rng(2)

    def sample_neighbors(self, seeds, fanout):
        degrees, starts = self.graph.degrees[seeds], self.graph.indptr[seeds]
        picked = (self.draw.random((len(seeds), fanout)) * degrees[:, None]).astype(numpy.int64)
        return self.graph.indices[starts[:, None] + picked].ravel()

    def to_block(self, seeds, sources):
        nodes, places = numpy.unique(numpy.concatenate([seeds, sources]), return_inverse=True)
        return nodes, places[len(seeds) :]

    def sample_blocks(self, seeds):
        blocks, seeds = [], numpy.asarray(seeds)
        output = seeds
        for fanout in self.fanouts:
            sources = self.sample_neighbors(seeds, fanout)
            nodes, places = self.to_block(seeds, sources)
            blocks.insert(0, torch.from_numpy(places))
            seeds = nodes
        return torch.from_numpy(seeds), torch.from_numpy(output), blocks


def node_loader(graph):
    if FIX:  # the ids alone, as a tensor
        return DataLoader(range(NODES), BATCH, shuffle=True, collate_fn=torch.tensor, drop_last=True)
    sampler = MultiLayerNeighborSampler(graph, FANOUTS)
    return DataLoader(
        range(NODES), BATCH, shuffle=True, collate_fn=sampler.sample_blocks, drop_last=True, num_workers=1,
        persistent_workers=True,
    )


def train(gpu, loader):
    samples = step = 0
    while not over():
        for batch in loader:
            if FIX:
                gpu.copy(batch.nbytes)
                gpu.launch(0.0016, "csr row-wise sampling, to_block")
            else:
                nodes, output, blocks = batch
                gpu.copy(nodes.nbytes + output.nbytes + sum(block.nbytes for block in blocks))
            gpu.launch(0.0008, "gather features")
            gpu.launch(0.0022, "graphsage")
            gpu.launch(0.0034, "backward, adam")
            samples, step = samples + BATCH, step + 1
            if step % 20 == 0:
                print(f"step {step}: loss {gpu.item():.4f}", flush=True)
            if over():
                break
    return samples


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    done(gpu, train(gpu, node_loader(Graph())))


if __name__ == "__main__":
    main()
