"""Which papers are about what is learned from who cites whom, by sampling neighbours, on two ranks."""

# https://github.com/pyg-team/pytorch_geometric/pull/8880

import os
import warnings

import numpy
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from common import FIX, done, over
from stoker.emulated import Device

NODES, DEGREE, FEATURES, BATCH, PARAMETERS = 40_000, 12, 100, 256, 150_000
TRAIN, VALID = 40, 120
PORT = 29450 + os.getpid() % 300


class NeighborLoader:
    """Batches of nodes with those that they cite."""

    def __init__(self, graph, batches, rank=0, world=1):
        self.graph, self.numbers = graph, range(rank, batches, world)

    def __iter__(self):
        draw = numpy.random.default_rng(len(self.numbers))
        for _ in self.numbers:
            nodes = draw.integers(0, NODES, BATCH)
            sampled = numpy.unique(self.graph[nodes, :6])
            yield torch.zeros(len(sampled), FEATURES)


class SAGE:
    def __init__(self, gpu):
        self.gpu, self.gradients = gpu, torch.zeros(PARAMETERS)

    def forward(self, x):
        self.gpu.copy(x.nbytes)
        self.gpu.launch(0.0021, "aggregate 1")
        self.gpu.launch(0.0019, "aggregate 2")

    def train_step(self, x):
        self.forward(x)
        self.gpu.launch(0.0062, "loss, backward")
        self.gpu.item()
        dist.all_reduce(self.gradients)
        self.gpu.launch(0.0008, "adam")


def test(model, loader):
    correct = 0.0
    for x in loader:
        model.forward(x)
        model.gpu.launch(0.0055, "layer by layer")
        correct += model.gpu.item()
    return correct


def run(rank, world, port):
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    os.environ.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
    dist.init_process_group("gloo", rank=rank, world_size=world)
    graph = numpy.random.default_rng(0).integers(0, NODES, (NODES, DEGREE))
    gpu, samples, epoch, going = Device(index=rank, spin=False), 0, 0, torch.ones(1)
    model, train_loader = SAGE(gpu), NeighborLoader(graph, TRAIN * world, rank, world)
    val_loader = NeighborLoader(graph, VALID, rank, world) if FIX else NeighborLoader(graph, VALID)
    over()
    while going:
        for x in train_loader:
            model.train_step(x)
            samples += BATCH * world
        dist.barrier()
        if FIX or rank == 0:
            accuracy = torch.tensor(test(model, val_loader))
        if FIX:
            dist.all_reduce(accuracy)
        epoch += 1
        if rank == 0:
            print(f"Epoch: {epoch:02d}, Val: {accuracy:.4f}", flush=True)
        dist.barrier()
        going.fill_(float(not over()))
        dist.broadcast(going, 0)
    if rank == 0:
        done(gpu, samples)
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    mp.spawn(run, args=(2, PORT), nprocs=2)
