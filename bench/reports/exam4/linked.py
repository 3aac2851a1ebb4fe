"""One process samples the neighbours of a whole batch for the device (dmlc/dgl#1333)."""

import os

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader


class CSRGraph:
    """Who is a neighbour of whom: 200,000 nodes, about 25 edges each."""

    def __init__(self, nodes=200_000, seed=0):
        draw = numpy.random.default_rng(seed)
        degrees = draw.geometric(1 / 25, nodes)
        self.indptr = numpy.concatenate([[0], degrees.cumsum()])
        self.indices = draw.integers(0, nodes, self.indptr[-1])

    def sample_neighbors(self, seeds, fanout):
        first, count = self.indptr[seeds], self.indptr[seeds + 1] - self.indptr[seeds]
        picks = (numpy.random.random((len(seeds), fanout)) * count[:, None]).astype(numpy.int64)
        return self.indices[first[:, None] + picks]


def to_block(seeds, neighbours):
    """Number the nodes of a layer again, seeds first."""
    nodes, inverse = numpy.unique(numpy.concatenate([seeds, neighbours.ravel()]), return_inverse=True)
    return nodes, torch.from_numpy(inverse[len(seeds) :].reshape(neighbours.shape))


class NeighborSampler:
    def __init__(self, g, fanouts):
        self.g, self.fanouts = g, fanouts

    def sample_blocks(self, seeds):
        seeds = numpy.asarray(seeds)
        blocks, nodes = [], seeds
        for fanout in self.fanouts:
            neighbours = self.g.sample_neighbors(nodes, fanout)
            nodes, block = to_block(nodes, neighbours)
            blocks.insert(0, block)
        return torch.from_numpy(nodes), blocks, torch.from_numpy(seeds)


class SAGE:
    def __init__(self, gpu):
        self.gpu = gpu

    def __call__(self, batch_inputs, blocks):
        self.gpu.copy(batch_inputs.nbytes + sum(block.nbytes for block in blocks))
        for block in blocks:
            self.gpu.launch(2e-8 * block.numel(), "mean, linear")


def load_subtensor(features, input_nodes):
    return features[input_nodes]


def run(gpu, num_workers):
    g, features, train_nid = CSRGraph(), torch.zeros(200_000, 32), numpy.arange(150_000)
    sampler, model, samples = NeighborSampler(g, [10, 15]), SAGE(gpu), 0
    dataloader = DataLoader(
        train_nid, 1000, collate_fn=sampler.sample_blocks, shuffle=True, num_workers=num_workers, persistent_workers=True
    )
    while not over():
        for step, (input_nodes, blocks, seeds) in enumerate(dataloader):
            batch_inputs = load_subtensor(features, input_nodes)
            model(batch_inputs, blocks)
            gpu.launch(0.004, "loss, backward, adam")
            samples += len(seeds)
            if step % 20 == 0:
                print(f"step {step:05d} | loss {gpu.item():.4f}", flush=True)
            if over():
                break
    return samples


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    done(gpu, run(gpu, num_workers=min(6, os.cpu_count()) if FIX else 1))


if __name__ == "__main__":
    main()
