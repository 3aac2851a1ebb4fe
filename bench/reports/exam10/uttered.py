"""Speech of any length is recognised by a transducer on two ranks; utterances of like length make a batch."""

# https://github.com/lhotse-speech/lhotse/pull/1341
# Cause: each rank draws the bucket of its next batch by itself: one has short utterances, the other long ones, which cost more
#        though they are fewer, and the first waits.
# Fix: draw buckets by a generator that is the same on all ranks.
# Line: 34, 37, 41, 102: DynamicBucketingSampler.select_bucket; the wait is in the exchange of gradients after backward.

import os
import random
import warnings

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from common import FIX, done, over
from stoker.emulated import Device
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, Sampler

BUCKETS, MAX_DURATION, PARAMETERS = 12, 120.0, 500_000
PORT = 29900 + os.getpid() % 300


def duration(bucket):
    return 1.3 * 1.36**bucket


class DynamicBucketingSampler(Sampler):
    """Batches of as many utterances of a bucket as last so many seconds together."""

    def __init__(self, rank, sync_buckets):
        self.cuts = random.Random(rank)
        self.bucket = random.Random(0 if sync_buckets else 100 + rank)

    def select_bucket(self):
        return self.bucket.randrange(BUCKETS)

    def __iter__(self):
        for _ in range(2000):
            bucket = self.select_bucket()
            count = max(1, int(MAX_DURATION / duration(bucket)))
            yield [(bucket, self.cuts.randrange(1 << 20)) for _ in range(count)]


class K2SpeechRecognitionDataset(Dataset):
    def __init__(self):
        self.second = torch.zeros(100, 80, dtype=torch.float16)

    def __getitem__(self, cut):
        bucket, _ = cut
        return self.second.repeat(max(1, round(duration(bucket))), 1)


def collate(features):
    return torch.stack(features)


class Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weight, gpu, seconds):
        ctx.gpu, ctx.shape, ctx.seconds = gpu, weight.shape, seconds
        return weight[:1].sum()

    @staticmethod
    def backward(ctx, gradient):
        ctx.gpu.launch(ctx.seconds, "joiner, prediction, encoder backward")
        ctx.gpu.item()  # ranks exchange gradients when they are there
        return gradient.expand(ctx.shape), None, None


class Transducer(torch.nn.Module):
    """The device's work is emulated, weights and what ranks exchange are real; the joiner costs frames times symbols."""

    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.weight = gpu, torch.nn.Parameter(torch.zeros(PARAMETERS))

    def forward(self, features):
        utterances, frames = features.shape[:2]
        seconds = frames / 100
        self.gpu.copy(features.nbytes, pinned=True, non_blocking=True)
        work = 0.0012 + 0.0000022 * utterances * seconds * (4 * seconds + 2)
        self.gpu.launch(work, "zipformer, joiner")
        return Backward.apply(self.weight, self.gpu, 1.9 * work)


def train(rank, world, port):
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    os.environ.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
    dist.init_process_group("gloo", rank=rank, world_size=world)
    gpu, samples, batch_idx, going = Device(index=rank, spin=False), 0, 0, torch.ones(1)
    model = DistributedDataParallel(Transducer(gpu))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    sampler = DynamicBucketingSampler(rank, sync_buckets=FIX)
    loader = DataLoader(K2SpeechRecognitionDataset(), batch_sampler=sampler, collate_fn=collate)
    over()
    while going:
        for features in loader:
            loss = model(features)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)
            gpu.launch(0.0015, "scaled adam")
            batch_idx, samples = batch_idx + 1, samples + world
            if batch_idx % 50 == 0:
                if rank == 0:
                    print(f"Epoch 1, batch {batch_idx}, loss[loss={float(loss.detach()):.4f}]", flush=True)
                going.fill_(float(not over()))
                dist.broadcast(going, 0)
                if not going:
                    break
    if rank == 0:
        done(gpu, samples)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(train, args=(2, PORT), nprocs=2)
