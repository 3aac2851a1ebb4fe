"""A language model is trained on two ranks; gradients of eight small batches make a step."""

# https://github.com/huggingface/accelerate/issues/192

import contextlib
import os
import warnings

import torch
import torch.multiprocessing as mp
from accelerate import Accelerator
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

BATCH, LENGTH, WIDTH, GRADIENT_ACCUMULATION_STEPS = 4, 256, 1100, 8
PORT = 29700 + os.getpid() % 300


class Blocks(Dataset):
    def __init__(self, count=20_000):
        self.ids, self.count = torch.arange(LENGTH), count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.ids


class GPT2(torch.nn.Module):
    """The device's work is emulated; a layer is real, so that there are gradients to exchange."""

    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.layer = gpu, torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, ids):
        self.gpu.copy(ids.nbytes)
        self.gpu.launch(0.0027, "transformer")
        self.gpu.launch(0.0053, "backward")
        self.gpu.item()
        return self.layer(torch.ones(1, WIDTH)).mean()


def train(rank, world, port):
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    os.environ.update({
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": str(rank), "WORLD_SIZE": str(world),
        "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(world),
    })  # fmt: skip
    accelerator = Accelerator(cpu=True)
    gpu, samples, going = Device(index=rank, spin=False), 0, torch.ones(1)
    model = GPT2(gpu)
    model, optimizer, loader = accelerator.prepare(
        model, torch.optim.SGD(model.parameters(), 0.01), DataLoader(Blocks(), BATCH, shuffle=True)
    )
    over()
    for step, ids in enumerate(loader, 1):
        last = step % GRADIENT_ACCUMULATION_STEPS == 0
        with model.no_sync() if FIX and not last else contextlib.nullcontext():
            loss = model(ids) / GRADIENT_ACCUMULATION_STEPS
            accelerator.backward(loss)
        samples += BATCH * world
        if not last:
            continue
        optimizer.step()
        optimizer.zero_grad()
        gpu.launch(0.002, "adamw")
        if step % 80 == 0:
            accelerator.print(f"{step // GRADIENT_ACCUMULATION_STEPS} steps, loss {gpu.item():.3f}", flush=True)
        going.fill_(float(not over()))
        torch.distributed.broadcast(going, 0)
        if not going:
            break
    if rank == 0:
        done(gpu, samples)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    mp.spawn(train, args=(2, PORT), nprocs=2)
