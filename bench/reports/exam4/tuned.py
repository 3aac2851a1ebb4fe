"""An optimizer dispatches each operation for each parameter separately (microsoft/dion#63)."""

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils._pytree import tree_map


class ShardedTensor(torch.Tensor):
    """A shard of a parameter: each operation on it passes through Python, as with DTensor."""

    @staticmethod
    def __new__(cls, local):
        return torch.Tensor._make_wrapper_subclass(cls, local.shape, dtype=local.dtype, device=local.device)

    def __init__(self, local):
        self.local = local

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        unwrap = lambda x: x.local if isinstance(x, ShardedTensor) else x  # noqa: E731
        out = func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs or {}))
        return tree_map(lambda x: ShardedTensor(x) if isinstance(x, torch.Tensor) else x, out)


class Model:
    """A language model of 24 layers; the arithmetic is the device's."""

    def __init__(self, gpu, layers=24):
        self.gpu, self.layers = gpu, layers
        self.scalar_params = [ShardedTensor(torch.zeros(8)) for _ in range(6 * layers)]

    def forward_backward(self, tokens):
        self.gpu.copy(tokens.nbytes)
        for _ in range(self.layers):
            for name in ("norm", "qkv", "attention", "projection", "gate, up", "down"):
                self.gpu.launch(0.00007, name)
        for _ in range(self.layers):
            for name in ("down", "gate, up", "projection", "attention", "qkv", "norm"):
                self.gpu.launch(0.00014, f"{name} backward")


class NorMuon:
    """Muon for the matrices, AdamW for the rest."""

    def __init__(self, gpu, params, lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1):
        self.gpu, self.params, self.lr, self.betas, self.weight_decay = gpu, params, lr, betas, weight_decay
        self.moments = [ShardedTensor(torch.zeros_like(p.local)) for p in params]
        self.variances = [ShardedTensor(torch.zeros_like(p.local)) for p in params]
        self.grads = [ShardedTensor(torch.full_like(p.local, 0.01)) for p in params]

    def orthogonalize(self):
        for _ in range(5):
            self.gpu.launch(0.001, "newton schulz")

    def adamw_update_foreach(self):
        beta1, beta2 = self.betas
        for p, g, m, v in zip(self.params, self.grads, self.moments, self.variances, strict=True):
            m.mul_(beta1).add_(g, alpha=1 - beta1)
            v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
            denominator = v.sqrt().add_(1e-8)
            p.mul_(1 - self.lr * self.weight_decay)
            p.addcdiv_(m, denominator, value=-self.lr)
            for name in ("mul", "add", "mul", "addcmul", "sqrt", "add", "mul", "addcdiv"):
                self.gpu.launch(0.000012, name)

    def adamw_update_fused(self):
        beta1, beta2 = self.betas
        lists = ([x.local for x in group] for group in (self.params, self.grads, self.moments, self.variances))
        steps = [torch.tensor(1.0) for _ in self.params]
        settings = {"lr": self.lr, "beta1": beta1, "beta2": beta2, "weight_decay": self.weight_decay, "eps": 1e-8}
        torch._fused_adamw_(*lists, [], steps, amsgrad=False, maximize=False, **settings)
        self.gpu.launch(0.002, "fused adamw")

    @torch.no_grad()
    def step(self):
        self.orthogonalize()
        if FIX:
            self.adamw_update_fused()
        else:
            self.adamw_update_foreach()


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    model, data, step, samples = Model(gpu), numpy.zeros((64, 16, 1025), numpy.int64), 0, 0
    optimizer = NorMuon(gpu, model.scalar_params)
    while not over():
        tokens = torch.from_numpy(data[step % 64])
        model.forward_backward(tokens)
        optimizer.step()
        step, samples = step + 1, samples + len(tokens)
        if step % 10 == 0:
            print(f"step {step}: loss {gpu.item():.4f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
