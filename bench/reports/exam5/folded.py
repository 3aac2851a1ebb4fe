"""Structures of proteins by diffusion: a trunk of pairs, and a module of atoms."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch import nn


class PairBlock(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(4))
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(9))


class KFold(nn.Module):
    """The modules have few numbers here: the arithmetic is the device's."""

    def __init__(self):
        super().__init__()
        self.msa_module = nn.Sequential(*(PairBlock() for _ in range(4)))
        self.pairformer_module = nn.Sequential(*(PairBlock() for _ in range(40)))
        self.structure_module = nn.Sequential(*(PairBlock() for _ in range(20)))
        self.confidence_module = nn.Sequential(*(PairBlock() for _ in range(4)))


def gradient_norm(gpu, module):
    grads = [p.grad for p in module.parameters() if p.grad is not None]
    if FIX:
        for name in ("foreach norm", "foreach norm", "stack, vector norm"):
            gpu.launch(0.0001, name)
        return torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads)))
    total = torch.tensor(0.0)
    for grad in grads:
        for name in ("norm", "pow", "add"):
            gpu.launch(0.000004, name)
        total = total + grad.detach().norm(p=2) ** 2
    return total.sqrt()


def parameter_norm(gpu, module):
    params = [p.detach() for p in module.parameters()]
    if FIX:
        for name in ("foreach norm", "foreach norm", "stack, vector norm"):
            gpu.launch(0.0001, name)
        return torch.linalg.vector_norm(torch.stack(torch._foreach_norm(params)))
    total = torch.tensor(0.0)
    for param in params:
        for name in ("norm", "pow", "add"):
            gpu.launch(0.000004, name)
        total = total + param.norm(p=2) ** 2
    return total.sqrt()


class LitKFold:
    def __init__(self, gpu):
        self.gpu, self.model, self.logged = gpu, KFold(), {}
        for p in self.model.parameters():
            p.grad = torch.full_like(p, 0.01)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, foreach=True)

    def training_step(self, features):
        self.gpu.copy(sum(value.nbytes for value in features.values()), pinned=True, non_blocking=True)
        for name, blocks, seconds in (("msa", 4, 0.0006), ("pairformer", 40, 0.0004), ("structure", 20, 0.0002)):
            for _ in range(blocks):
                self.gpu.launch(seconds, name)
        self.gpu.launch(0.045, "losses, backward")

    def optimizer_step(self):
        self.optimizer.step()
        self.gpu.launch(0.003, "adamw")

    def on_after_backward(self):
        self.log("grad_norm", gradient_norm(self.gpu, self.model))
        self.log("param_norm", parameter_norm(self.gpu, self.model))
        for name, module in self.model.named_children():
            self.log(f"grad_norm/{name}", gradient_norm(self.gpu, module))
            self.log(f"param_norm/{name}", parameter_norm(self.gpu, module))

    def log(self, name, value):
        self.logged[name] = value


def main():
    torch.set_num_threads(1)
    gpu, step, samples = Device(spin=False), 0, 0
    module = LitKFold(gpu)
    features = {"msa": torch.zeros(64, 384, 32), "pair": torch.zeros(384, 384, 4), "atoms": torch.zeros(3000, 3)}
    while not over():
        module.training_step(features)
        module.on_after_backward()
        module.optimizer_step()
        step, samples = step + 1, samples + 1
        if step % 20 == 0:
            gpu.item()
            print(f"step {step}: " + ", ".join(f"{k} {float(v):.3f}" for k, v in list(module.logged.items())[:2]), flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
