"""The profiler, with memory and stacks, is left on for the whole training (facebookresearch/dlrm#197, pytorch/kineto#308)."""

import contextlib

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.data import DataLoader, Dataset


class Clicks(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        return torch.zeros(32)


class Tables(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(32, 32) for _ in range(16))

    def forward(self, x):
        return sum(layer(x).relu().mean() for layer in self.layers)


def start_profiler():
    if FIX:
        return contextlib.nullcontext()
    return profile(
        activities=[ProfilerActivity.CPU], schedule=schedule(wait=0, warmup=1, active=4), on_trace_ready=lambda p: p.key_averages(),
        record_shapes=True, profile_memory=True, with_stack=True,
    )


def main():
    torch.set_num_threads(1)
    gpu, model = Device(), Tables()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(Clicks(), batch_size=16, shuffle=True, num_workers=1, pin_memory=True)
    samples = 0
    with start_profiler() as profiler:
        for batch in loader:
            gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.008, "step")
            optimizer.zero_grad()
            model(batch).backward()
            optimizer.step()
            if profiler:
                profiler.step()
            samples += len(batch)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
