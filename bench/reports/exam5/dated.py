"""Links of a temporal graph: which node does a node meet next?"""

import copy
from dataclasses import dataclass, field

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device


@dataclass
class Batch:
    """Edges of one time span, with what hooks have added."""

    src: torch.Tensor
    dst: torch.Tensor
    time: torch.Tensor
    edge_feats: torch.Tensor
    neg: torch.Tensor = None
    neg_batch_list: list = field(default_factory=list)
    nbr_feats: torch.Tensor = None


class TemporalGraph:
    def __init__(self, edges=40_000, nodes=2000):
        draw = torch.Generator().manual_seed(0)
        self.src, self.dst = torch.randint(0, nodes, (2, edges), generator=draw)
        self.time, self.feats = torch.arange(edges), torch.rand(edges, 172, generator=draw)
        self.nodes = nodes

    def batches(self, first, last, size=200):
        for start in range(first, last, size):
            part = slice(start, start + size)
            yield Batch(self.src[part], self.dst[part], self.time[part], self.feats[part])


class RecencyNeighborHook:
    def __init__(self, graph, count=20):
        self.graph, self.count, self.draw = graph, count, numpy.random.default_rng(1)

    def __call__(self, batch):
        picks = self.draw.integers(0, len(self.graph.src), (len(batch.src), self.count))
        batch.nbr_feats = self.graph.feats[torch.from_numpy(picks)]
        return batch


class NegativesHook:
    """For each edge the nodes that it is ranked against."""

    def __init__(self, graph, count):
        self.nodes, self.count, self.draw = graph.nodes, count, torch.Generator().manual_seed(2)

    def __call__(self, batch):
        batch.neg_batch_list = [torch.randint(0, self.nodes, (self.count,), generator=self.draw) for _ in batch.src]
        batch.neg = torch.cat(batch.neg_batch_list).unique()
        return batch


class TPNet:
    def __init__(self, gpu):
        self.gpu = gpu

    def loss(self, batch):
        self.gpu.copy(batch.nbr_feats.nbytes + batch.edge_feats.nbytes)
        self.gpu.launch(0.02, "projections, encoder, decoder")
        self.gpu.launch(0.03, "backward, adam")

    def scores(self, batch):
        self.gpu.launch(0.0006, "projections, decoder")
        self.gpu.item()
        return torch.rand(len(batch.dst))


def reciprocal_rank(scores):
    return float(1 / (1 + (scores[1:] > scores[0]).sum()))


def train(model, graph, hooks):
    edges = 0
    for batch in graph.batches(0, 4000):
        for hook in hooks:
            batch = hook(batch)
        model.loss(batch)
        edges += len(batch.src)
        if over():
            break
    return edges


def evaluate(model, graph, hooks):
    ranks, edges = [], 0
    for batch in graph.batches(32_000, 33_000):
        for hook in hooks:
            batch = hook(batch)
        if FIX:
            copied = copy.deepcopy(batch)
        for idx, neg_batch in enumerate(batch.neg_batch_list):
            if not FIX:
                copied = copy.deepcopy(batch)
            copied.src = batch.src[idx].repeat(len(neg_batch) + 1)
            copied.dst = torch.cat([batch.dst[idx, None], neg_batch])
            copied.time = batch.time[idx].repeat(len(neg_batch) + 1)
            ranks.append(reciprocal_rank(model.scores(copied)))
            edges += 1
            if over():
                return ranks, edges
    return ranks, edges


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    graph, model, samples, epoch = TemporalGraph(), TPNet(gpu), 0, 0
    hooks = [NegativesHook(graph, 20), RecencyNeighborHook(graph)]
    while not over():
        samples += train(model, graph, hooks)
        ranks, edges = evaluate(model, graph, hooks)
        samples += edges
        print(f"epoch {epoch}: loss {gpu.item():.4f}, mrr {numpy.mean(ranks or [0]):.3f}", flush=True)
        epoch += 1
    done(gpu, samples)


if __name__ == "__main__":
    main()
