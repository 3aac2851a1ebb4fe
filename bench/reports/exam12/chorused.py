"""Speech is recognised by a conformer on two ranks; weights are averaged now and then, gradients are not exchanged."""

# https://github.com/rwth-i6/returnn/issues/1726

import os
import warnings

import numpy
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from common import FIX, done, over
from stoker.emulated import Device

PARAMETERS, PARAM_SYNC_STEP, FRAME = 400_000, 25, 0.000025
PORT = 29400 + os.getpid() % 300


class Batches:
    """Utterances of one length each; a long one comes now and then."""

    def __init__(self, rank):
        self.draw = numpy.random.default_rng(rank)

    def __iter__(self):
        while True:
            length = int(min(150 + self.draw.exponential(700), 3500))
            yield torch.zeros(4, length)


class Engine:
    def __init__(self, rank, world, gpu):
        self.rank, self.world, self.gpu = rank, world, gpu
        self.parameters, self.step, self.seconds = torch.zeros(PARAMETERS), 0, 0

    def maybe_sync_have_data(self):
        """Whether all ranks have another batch: 0 if one has not."""
        if FIX and self.step % PARAM_SYNC_STEP:
            return True
        flag = torch.ones(1)
        dist.all_reduce(flag, op=dist.ReduceOp.MIN)
        return bool(flag.item())

    def run_step(self, features):
        self.gpu.copy(features.nbytes, pinned=True, non_blocking=True)
        frames = features.shape[1]
        self.gpu.launch(frames * FRAME, "frontend, conformer, ctc")
        self.gpu.launch(frames * 2 * FRAME, "backward, adamw")
        self.gpu.item()

    def average(self):
        dist.all_reduce(self.parameters)
        self.parameters /= self.world

    def train_epoch(self, batches):
        utterances, going = 0, torch.ones(1)
        for features in batches:
            if not self.maybe_sync_have_data():
                break
            self.run_step(features)
            self.step += 1
            utterances += len(features)
            if self.step % PARAM_SYNC_STEP == 0:
                self.average()
                if self.rank == 0:
                    print(f"ep 1 train, step {self.step}, ctc 7.870, num_seqs {len(features)}", flush=True)
                going.fill_(float(not over()))
                dist.broadcast(going, 0)
                if not going:
                    break
        return utterances


def train(rank, world, port):
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    os.environ.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
    dist.init_process_group("gloo", rank=rank, world_size=world)
    gpu = Device(index=rank, spin=False)
    engine = Engine(rank, world, gpu)
    over()
    utterances = engine.train_epoch(Batches(rank))
    if rank == 0:
        done(gpu, utterances * world)
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    mp.spawn(train, args=(2, PORT), nprocs=2)
