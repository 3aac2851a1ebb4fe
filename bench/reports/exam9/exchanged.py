"""Two ranks train a detector; gradients of some small batches are added up before each step of the optimizer."""

# https://github.com/ultralytics/yolov5/issues/790
# Cause: DistributedDataParallel sums gradients over ranks in each backward, though only that before optimizer.step() counts.
# Fix: model.no_sync() for all small batches but the last.
# Line: 21, 68, 78 to 80: loss.backward under DistributedDataParallel in train.

import contextlib
import os
import warnings

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from common import FIX, done, over
from stoker.emulated import Device
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

ACCUMULATE, BATCH, PARAMETERS = 8, 8, 8_000_000


class LoadImagesAndLabels(Dataset):
    def __init__(self):
        self.image, self.labels = torch.zeros(3, 64, 64, dtype=torch.uint8), torch.rand(12, 5)

    def __len__(self):
        return 16_000

    def __getitem__(self, i):
        return self.image, self.labels


class Model(torch.nn.Module):
    """The emulated device does the network's work; its weights are real, as is what ranks exchange."""

    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.weight = gpu, torch.nn.Parameter(torch.zeros(PARAMETERS))

    def forward(self, images):
        self.gpu.copy(images.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.005, "csp, panet")
        return Backward.apply(self.weight, self.gpu)


class Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weight, gpu):
        ctx.gpu, ctx.shape = gpu, weight.shape
        return weight[:1].sum()

    @staticmethod
    def backward(ctx, gradient):
        ctx.gpu.launch(0.009, "backward")
        ctx.gpu.item()  # ranks exchange gradients when they are there
        return gradient.expand(ctx.shape), None


def train(rank, world):
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29591")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    gpu, samples, epoch, going = Device(index=rank, spin=False), 0, 0, torch.ones(1)
    model = DistributedDataParallel(Model(gpu))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    sampler = DistributedSampler(dataset := LoadImagesAndLabels(), world, rank)
    loader = DataLoader(dataset, BATCH, sampler=sampler, pin_memory=True)
    over()
    while going:
        sampler.set_epoch(epoch)
        for i, (images, _) in enumerate(loader):
            ni = i + len(loader) * epoch
            last = ni % ACCUMULATE == ACCUMULATE - 1
            with model.no_sync() if FIX and not last else contextlib.nullcontext():
                loss = model(images)
                loss.backward()
            samples += BATCH * world
            if last:
                optimizer.step()
                optimizer.zero_grad(set_to_none=False)
                gpu.launch(0.0008, "sgd")
            if ni % 32 == 31:
                if rank == 0:
                    print(f"     0/299     6.2G   {float(loss.detach()):.4f}   {ni:6d}/{len(loader)}", flush=True)
                going.fill_(float(not over()))
                dist.broadcast(going, 0)
                if not going:
                    break
        epoch += 1
    if rank == 0:
        done(gpu, samples)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(train, args=(2,), nprocs=2)
