"""A language model whose norms and heads have their own optimizer, tensor by tensor."""

# https://github.com/microsoft/dion/pull/63
# Cause: the optimizer's foreach step still dispatches one operation per tensor on the CPU: 138 ms a step for 13 ms of
#        work on the GPU.
# Fix: one fused kernel for all parameters (as AdamW(fused=True) has it).
# Line: 64 to 74, adamw_update_foreach.

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils import _pytree
from torch.utils.data import DataLoader, Dataset


class Tokens(Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, i):
        return torch.full((1024,), i % 50_000)


class Sharded(torch.Tensor):
    """A parameter that knows how it lies on the ranks: each operation passes through Python."""

    @staticmethod
    def __new__(cls, local, gpu):
        made = torch.Tensor._make_wrapper_subclass(cls, local.shape, dtype=local.dtype)
        made.local, made.gpu = local, gpu
        return made

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments, keywords=None):
        gpu = None

        def inner(x):
            nonlocal gpu
            if isinstance(x, Sharded):
                gpu = x.gpu
                return x.local
            return x

        arguments, keywords = _pytree.tree_map(inner, (arguments, keywords or {}))
        made = function(*arguments, **keywords)
        gpu.launch(1.4e-5, function.__name__)
        return _pytree.tree_map(lambda x: Sharded(x, gpu) if isinstance(x, torch.Tensor) else x, made)


class AdamW:
    def __init__(self, gpu, count=150, lr=3e-4, betas=(0.9, 0.95), decay=0.1):
        self.gpu, self.lr, self.betas, self.decay, self.time = gpu, lr, betas, decay, 0
        self.parameters, self.gradients, self.m, self.v = [
            [Sharded(torch.rand(16), gpu) for _ in range(count)] for _ in range(4)
        ]

    def step(self):
        self.time += 1
        if FIX:
            self.gpu.launch(0.009, "fused adamw")
        else:
            self.adamw_update_foreach()

    def adamw_update_foreach(self):
        one, two = self.betas
        for x, g, m, v in zip(self.parameters, self.gradients, self.m, self.v, strict=True):
            m.lerp_(g, 1 - one)
            v.mul_(two)
            v.addcmul_(g, g, value=1 - two)
            denominator = v.div(1 - two**self.time)
            denominator.sqrt_()
            denominator.add_(1e-8)
            x.mul_(1 - self.lr * self.decay)
            x.addcdiv_(m, denominator, value=-self.lr / (1 - one**self.time))


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    optimizer = AdamW(gpu)
    loader = DataLoader(Tokens(), 8, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for tokens in loader:
            gpu.copy(tokens.nbytes, pinned=True, non_blocking=True)
            for layer in range(24):
                gpu.launch(0.0008, f"layer {layer}")
            gpu.launch(0.034, "backward")
            gpu.launch(0.006, "newton-schulz")
            optimizer.step()
            step, samples = step + 1, samples + len(tokens)
            if step % 20 == 0:
                print(f"step {step}: loss {gpu.item():.3f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
