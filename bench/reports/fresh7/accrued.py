"""A world model on two ranks: gradients of four small batches are added up, and yet sent each time."""

# https://github.com/NVIDIA/cosmos-framework/issues/161
# Cause: ddp_sync_grad() knows DistributedDataParallel alone; the model is FSDP2, so that it does nothing, and all
#        gradients are reduced between the replicas at each small batch: 10.8 s of work, 11.4 s of sync each.
# Fix: set_requires_all_reduce(False) but for the last small batch: 88.8 s a step became 54.3.
# Line: 53, dist.all_reduce in post_backward (ddp_sync_grad at 57 to 67).

import contextlib
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from common import FIX, done, over
from stoker.emulated import Device
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

ACCUMULATE, SHARD = 4, 2_400_000


class Scenes(Dataset):
    def __len__(self):
        return 1600

    def __getitem__(self, i):
        return torch.full((16, 32, 32), i / 1600), torch.zeros(7)


class FSDPModule:
    """One shard of the model, whose replica is on the other node."""

    def __init__(self, gpu):
        self.gpu, self.requires_all_reduce = gpu, True
        self.shard, self.sent = torch.nn.Parameter(torch.zeros(SHARD)), torch.zeros(SHARD)
        self.shard.grad, self.optimizer = torch.zeros(SHARD), torch.optim.SGD([self.shard], 1e-3)

    def forward(self, scene, action):
        self.gpu.copy(scene.nbytes + action.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.008, "all-gather, transformer")

    def backward(self):
        self.gpu.launch(0.016, "backward")
        self.gpu.launch(0.001, "reduce-scatter in the node")
        self.post_backward()

    def post_backward(self):
        self.shard.grad.add_(0.001)
        if self.requires_all_reduce:
            self.gpu.synchronize()  # the shard of the gradients is there
            self.sent.copy_(self.shard.grad)
            dist.all_reduce(self.sent)


@contextlib.contextmanager
def ddp_sync_grad(model, enabled):
    if isinstance(model, DistributedDataParallel):
        before, model.require_backward_grad_sync = model.require_backward_grad_sync, enabled
        yield
        model.require_backward_grad_sync = before
    elif FIX and isinstance(model, FSDPModule):
        model.requires_all_reduce = enabled  # set_requires_all_reduce
        yield
        model.requires_all_reduce = True
    else:
        yield


def training_step(model, scene, action, last):
    with ddp_sync_grad(model, last):
        model.forward(scene, action)
        model.backward()
    if last:
        model.gpu.launch(0.002, "clip, fused optimizer")
        model.optimizer.step()
        model.optimizer.zero_grad(set_to_none=False)


def work(rank, world):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29571")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    gpu, samples, micro, going = Device(index=rank, spin=False), 0, 0, torch.ones(1)
    model, loader = FSDPModule(gpu), DataLoader(Scenes(), 4, shuffle=True, pin_memory=True)
    over()
    while going:
        for scene, action in loader:
            micro += 1
            last = micro % ACCUMULATE == 0
            training_step(model, scene, action, last)
            samples += len(scene)
            if last and micro % 8 == 0:
                going.fill_(float(not over()))
                dist.broadcast(going, 0)
                if not going:
                    break
    if rank == 0:
        done(gpu, samples * world)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(2,), nprocs=2)
