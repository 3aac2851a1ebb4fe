"""Each loss is reduced over the ranks and read in each iteration, though few are printed (jolibrain/joliGEN#374)."""

import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

NAMES = ("G_tot", "G_GAN_A", "G_GAN_B", "G_cycle_A", "G_cycle_B", "G_idt_A", "G_idt_B", "D_tot", "D_GAN_A", "D_GAN_B", "G_NCE", "G_NCE_Y")


class Unaligned(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        return torch.zeros(3, 64, 64)


class CutModel:
    def __init__(self, gpu):
        self.gpu, self.losses = gpu, {}
        self.blocks = torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(300)])

    @torch.no_grad()
    def optimize_parameters(self, data):
        self.gpu.copy(data.nbytes, pinned=True, non_blocking=True)
        hidden = torch.zeros(1, 8)
        for block in self.blocks:
            hidden = block(hidden)
            self.gpu.launch(0.00002, "block")
        self.losses = {name: hidden.sum() for name in NAMES}

    def get_current_losses(self, world_size):
        floats = {}
        for name, value in self.losses.items():
            self.gpu.item()
            dist.all_reduce(value)
            floats[name] = float(value) / world_size
        return floats


def train_gpu(rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    model, samples, stop = CutModel(Device(rank, spin=False)), 0, torch.zeros(1)
    loader = DataLoader(Unaligned(), batch_size=4, shuffle=True, num_workers=1, pin_memory=True)
    for step, data in enumerate(loader):
        model.optimize_parameters(data)
        samples += len(data)
        if not FIX or step % 100 == 0:
            losses = model.get_current_losses(world_size=2)
        if rank == 0 and step % 100 == 0:
            print(", ".join(f"{name} {value:.3f}" for name, value in losses.items()), flush=True)
        if step % 20 == 0:
            stop.fill_(over())
            dist.all_reduce(stop)
            if stop:
                break
    done(model.gpu, samples)
    dist.destroy_process_group()


def main():
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train_gpu, (folder,), nprocs=2)


if __name__ == "__main__":
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    main()
