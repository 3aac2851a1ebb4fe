"""A mixture of experts is trained on two ranks, and what happens in each layer is watched by many small figures."""

# https://github.com/bo-ke/llm-internal-medicine/pull/68

import os
import warnings
import zlib

import numpy
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from common import FIX, done, over
from stoker.emulated import Device

LAYERS, EXPERTS, PARAMETERS = 32, 192, 300_000
PORT = 29200 + os.getpid() % 300


class Monitor:
    """Keeps the figures of a step, and writes the mean, the least and the most of all ranks."""

    def __init__(self, rank, world):
        self.rank, self.world, self.layout, self.draw = rank, world, None, numpy.random.default_rng(rank)
        self.names = [
            f"decoder.layers.{layer}.mlp.experts.local_experts.{expert}.{figure}"
            for layer in range(LAYERS)
            for expert in range(EXPERTS)
            for figure in ("load_fraction", "output_rms")
        ]

    def collect(self):
        return dict(zip(self.names, self.draw.random(len(self.names)).tolist(), strict=True))

    def gather_and_aggregate(self, local):
        gathered = [None] * self.world
        dist.all_gather_object(gathered, local)
        result = {}
        for name in local:
            values = [metrics[name] for metrics in gathered if name in metrics]
            result[name] = (sum(values) / len(values), min(values), max(values))
        return result

    def reduce_and_aggregate(self, local):
        values = torch.tensor(list(local.values()), dtype=torch.float64)
        if self.layout is None:
            self.layout = zlib.crc32("".join(local).encode())
        total, greatest = values.clone(), torch.cat([values, -values])
        dist.all_reduce(total)
        dist.all_reduce(greatest, op=dist.ReduceOp.MAX)
        return total / self.world, greatest

    def step(self):
        local = self.collect()
        return self.reduce_and_aggregate(local) if FIX else self.gather_and_aggregate(local)


class Trainer:
    def __init__(self, rank, world, gpu):
        self.gpu, self.monitor, self.gradients = gpu, Monitor(rank, world), torch.zeros(PARAMETERS)

    def train_step(self):
        for layer in range(LAYERS):
            self.gpu.launch(0.0003, f"attention, router, experts {layer}")
        self.gpu.launch(0.021, "backward")
        self.gpu.item()
        dist.all_reduce(self.gradients)
        self.gpu.launch(0.002, "adamw")
        self.monitor.step()


def train(rank, world, port):
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    os.environ.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
    dist.init_process_group("gloo", rank=rank, world_size=world)
    gpu, samples, step, going = Device(index=rank, spin=False), 0, 0, torch.ones(1)
    trainer = Trainer(rank, world, gpu)
    over()
    while going:
        trainer.train_step()
        step, samples = step + 1, samples + 8 * world
        if step % 10 == 0:
            if rank == 0:
                print(f"iteration {step}/ 50000 | lm loss: {gpu.item():.6E}", flush=True)
            going.fill_(float(not over()))
            dist.broadcast(going, 0)
    if rank == 0:
        done(gpu, samples)
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    mp.spawn(train, args=(2, PORT), nprocs=2)
