"""A language model is tuned on answers of very different length by two ranks; many small batches make a step."""

# https://github.com/modelscope/ms-swift/pull/9966
# Cause: the loss that is only logged is summed over ranks for each small batch, so that ranks wait for each other each time.
# Fix: keep the sum and the count of tokens, and sum them over ranks when they are logged.
# Line: 43 to 44, 52: dist.all_reduce in MegatronTrainer.loss_func.

import os
import warnings

import numpy
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from common import FIX, done, over
from stoker.emulated import Device

MICRO_BATCHES, PARAMETERS, LOGGING_STEPS = 24, 400_000, 5
PORT = 29600 + os.getpid() % 300


class Answers:
    """Some are a word, some are pages."""

    def __init__(self, rank):
        self.draw = numpy.random.default_rng(rank)

    def micro_batch(self):
        length = int(24 + 900 * self.draw.gamma(0.5))
        return torch.zeros(length, dtype=torch.long), length


class MegatronTrainer:
    def __init__(self, rank, gpu):
        self.rank, self.gpu, self.data = rank, gpu, Answers(rank)
        self.gradients, self.reported = torch.zeros(PARAMETERS), torch.zeros(2)

    def loss_func(self, tokens):
        """The loss to learn from stays here; what is logged is over all ranks."""
        self.gpu.launch(0.0001, "cross entropy")
        reporting = torch.tensor([2.0, float(tokens)])
        if not FIX:
            self.gpu.item()
            dist.all_reduce(reporting)
        self.reported += reporting

    def forward_backward(self):
        for _ in range(MICRO_BATCHES):
            ids, tokens = self.data.micro_batch()
            self.gpu.copy(ids.nbytes, pinned=True, non_blocking=True)
            self.gpu.launch(0.0000045 * tokens, "forward")
            self.loss_func(tokens)
            self.gpu.launch(0.000009 * tokens, "backward")

    def train_step(self):
        self.forward_backward()
        self.gpu.item()
        dist.all_reduce(self.gradients)
        self.gpu.launch(0.004, "adamw")

    def log(self, step):
        if FIX:
            dist.all_reduce(self.reported)
        loss = float(self.reported[0] / self.reported[1])
        self.reported.zero_()
        if self.rank == 0:
            print({"loss": round(loss, 6), "iteration": f"{step}/10000"}, flush=True)


def train(rank, world, port):
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    os.environ.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
    dist.init_process_group("gloo", rank=rank, world_size=world)
    gpu, samples, step, going = Device(index=rank, spin=False), 0, 0, torch.ones(1)
    trainer = MegatronTrainer(rank, gpu)
    over()
    while going:
        trainer.train_step()
        step, samples = step + 1, samples + MICRO_BATCHES * world
        if step % LOGGING_STEPS == 0:
            trainer.log(step)
            going.fill_(float(not over()))
            dist.broadcast(going, 0)
    if rank == 0:
        done(gpu, samples)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(train, args=(2, PORT), nprocs=2)
