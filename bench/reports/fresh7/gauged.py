"""A language model whose optimizer also measures each parameter, each gradient and each moment."""

# https://github.com/allenai/OLMo/pull/326
# Cause: norm, mean, least and most of each parameter and gradient are read by .item(): hundreds of waits a step.
# Fix: keep the metrics on the GPU and read them once; read the loss only when it is logged.
# Line: 42 to 53, collect_metrics (.item() at 52).

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

MEASURES = {
    "norm": lambda x: x.norm(), "mean": lambda x: x.mean(), "min": lambda x: x.min(), "max": lambda x: x.max(),
}


class Tokens(Dataset):
    def __len__(self):
        return 2048

    def __getitem__(self, i):
        return torch.full((2048,), i)


class Model:
    """Two layers of a 7B, as in the request's own test; what the host does is small."""

    def __init__(self, gpu, layers=2):
        self.gpu = gpu
        names = ("att_proj", "attn_out", "ff_proj", "ff_out", "attn_norm", "ff_norm")
        self.named = {f"blocks.{n}.{name}": torch.rand(64) for n in range(layers) for name in names}
        self.named |= {"wte": torch.rand(64), "ln_f": torch.rand(64), "ff_out": torch.rand(64)}
        self.gradients = {name: torch.rand(64) for name in self.named}
        self.moments = {name: torch.rand(64) for name in self.named}

    def forward_backward(self):
        self.gpu.launch(0.0035, "forward")
        self.gpu.launch(0.0070, "backward")


def collect_metrics(gpu, model):
    metrics, kept = {}, []
    for name in model.named:
        for kind, tensors in (("param", model.named), ("grad", model.gradients), ("exp_avg", model.moments)):
            for measure, function in MEASURES.items():
                gpu.launch(6e-6, measure)
                value = function(tensors[name])
                if FIX:
                    kept.append(value)
                else:
                    gpu.item()
                    metrics[f"{kind}/{name}.{measure}"] = value.item()
    if FIX:
        gpu.launch(2e-5, "cat")
        metrics["all"] = torch.stack(kept)
    return metrics


class Trainer:
    def __init__(self, gpu, model):
        self.gpu, self.model, self.steps = gpu, model, 0

    def train_step(self, tokens):
        self.gpu.copy(tokens.nbytes, pinned=True, non_blocking=True)
        self.model.forward_backward()
        metrics = collect_metrics(self.gpu, self.model)
        self.gpu.launch(0.0008, "clip")
        self.gpu.launch(0.0015, "lion")
        self.steps += 1
        if not FIX:
            metrics["loss"] = self.gpu.item()
        return metrics


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    trainer = Trainer(gpu, Model(gpu))
    loader = DataLoader(Tokens(), 4, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for tokens in loader:
            metrics = trainer.train_step(tokens)
            samples += len(tokens)
            if trainer.steps % 20 == 0:
                print(f"step {trainer.steps}: loss {gpu.item():.3f}, {len(metrics)} metrics", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
