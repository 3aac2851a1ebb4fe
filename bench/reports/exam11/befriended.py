"""Who may know whom in a big network of people is learned from those that are near, hop by hop."""

# https://github.com/pyg-team/pytorch_geometric/issues/1877

import time

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader

NODES, DEGREE, SIZES, BATCH, FEATURES, FETCH = 200_000, 16, (15, 10, 5), 64, 32, 0.02


class NeighborSampler(DataLoader):
    """For nodes of a batch those around them, three hops far; the loader's items are nodes."""

    def __init__(self, sizes, batch_size, **options):
        draw = numpy.random.default_rng(0)
        self.neighbours = draw.integers(0, NODES, (NODES, DEGREE))
        self.sizes, self.draw = sizes, numpy.random.default_rng(1)
        super().__init__(range(NODES), batch_size, collate_fn=self.sample, **options)

    def sample(self, batch):
        nodes, hops = numpy.array(batch), []
        for size in self.sizes:
            columns = self.draw.integers(0, DEGREE, (len(nodes), min(size, DEGREE)))
            sampled = self.neighbours[nodes[:, None], columns]
            edge_index = numpy.stack([numpy.repeat(nodes, sampled.shape[1]), sampled.ravel()])
            nodes = numpy.unique(numpy.concatenate([nodes, sampled.ravel()]))
            hops.append(torch.from_numpy(edge_index))
        return torch.tensor(batch), self.features(nodes), hops

    def features(self, nodes):
        """What is known of people lies in a store on another machine."""
        time.sleep(FETCH)
        return torch.zeros(len(nodes), FEATURES)


class SAGE:
    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, x, hops):
        self.gpu.copy(x.nbytes + sum(hop.nbytes for hop in hops), pinned=True, non_blocking=True)
        for hop in range(len(hops)):
            self.gpu.launch(0.0018, f"aggregate {hop}")
        self.gpu.launch(0.0075, "loss, backward, adam")
        return self.gpu.item()


def train(model, loader):
    samples = step = 0
    while not over():
        for n_id, x, hops in loader:
            loss = model.step(x, hops)
            step, samples = step + 1, samples + len(n_id)
            if step % 50 == 0:
                print(f"Epoch 01, step {step}, Loss: {loss:.4f}", flush=True)
            if over():
                break
    return samples


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    workers = {"num_workers": 3, "persistent_workers": True} if FIX else {}
    loader = NeighborSampler(SIZES, BATCH, shuffle=True, **workers)
    done(gpu, train(SAGE(gpu), loader))


if __name__ == "__main__":
    main()
