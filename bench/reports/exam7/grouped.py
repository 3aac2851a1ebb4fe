"""A detector whose optimizer gives each parameter a learning rate and a decay by its name."""

# https://github.com/open-mmlab/mmengine/pull/909
# Cause: the constructor makes one group per parameter, and the optimizer steps group by group, kernel by kernel.
# Fix: merge groups that have the same settings, and step with foreach.
# Line: 32 to 41, add_params; the time goes at 58 to 61.

from collections import defaultdict

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __len__(self):
        return 4000

    def __getitem__(self, i):
        return torch.full((3, 96, 96), i / 4000)


def network(blocks=110):
    layers = {}
    for i in range(blocks):
        layers[f"backbone_{i}" if i < 80 else f"head_{i}"] = torch.nn.Sequential(torch.nn.Linear(12, 12), torch.nn.LayerNorm(12))
    return torch.nn.ModuleDict(layers)


class DefaultOptimWrapperConstructor:
    def add_params(self, model, lr, decay):
        params = []
        for name, parameter in model.named_parameters():
            group = {"params": [parameter], "lr": lr, "weight_decay": decay}
            if name.startswith("backbone"):
                group["lr"] = lr * 0.1
            if name.endswith("bias") or parameter.ndim == 1:
                group["weight_decay"] = 0.0
            params.append(group)
        return params

    def reduce_param_groups(self, params):
        merged = defaultdict(list)
        for group in params:
            merged[group["lr"], group["weight_decay"]] += group["params"]
        return [{"params": found, "lr": lr, "weight_decay": decay} for (lr, decay), found in merged.items()]

    def __call__(self, model, lr=2e-4, decay=0.05):
        params = self.add_params(model, lr, decay)
        return AdamW(self.reduce_param_groups(params) if FIX else params, foreach=FIX)


class AdamW(torch.optim.AdamW):
    gpu = None

    def step(self):
        super().step()
        for group in self.param_groups:
            for operation in ("mul", "lerp", "addcmul", "sqrt", "addcdiv"):
                self.gpu.launch(2e-6 * len(group["params"]) ** 0.5, operation)


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    model = network()
    optimizer = DefaultOptimWrapperConstructor()(model)
    optimizer.gpu = gpu
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 1e-3)
    loader = DataLoader(Pictures(), 4, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for pictures in loader:
            gpu.copy(pictures.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.006, "rtmdet, losses")
            gpu.launch(0.010, "backward")
            gpu.item()  # the norm of the gradients, to clip and to show it
            optimizer.step()
            step, samples = step + 1, samples + len(pictures)
            if step % 50 == 0:
                print(f"Epoch(train) [1][{step}] loss: {gpu.item():.4f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
