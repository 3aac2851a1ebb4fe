"""Forecasts of weather by a transformer over many streams of observations."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch import nn

STREAMS = ("era5", "synop", "seviri", "avhrr", "surface", "metop")


class Block(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.norm, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, width), nn.Linear(width, width)


class Model(nn.Module):
    """Embeddings and heads for each stream around one trunk; the arithmetic is the device's."""

    def __init__(self, gpu):
        super().__init__()
        self.gpu = gpu
        self.embeds = nn.ModuleDict({name: nn.Sequential(*(Block() for _ in range(6))) for name in STREAMS})
        self.trunk = nn.Sequential(*(Block() for _ in range(40)))
        self.heads = nn.ModuleDict({name: nn.Sequential(*(Block() for _ in range(6))) for name in STREAMS})

    def training_step(self):
        for name in STREAMS:
            self.gpu.launch(0.0012, f"embed {name}")
        for _ in self.trunk:
            self.gpu.launch(0.0003, "attention, mlp")
        for name in STREAMS:
            self.gpu.launch(0.0012, f"head {name}")
        self.gpu.launch(0.034, "loss, backward")


class EMAModel:
    """A slowly moving copy, which is what forecasts are made with."""

    def __init__(self, model, other, halflife=1e4, rampup=0.09, batch=8):
        self.original, self.ema, self.gpu = model, other, model.gpu
        self.halflife, self.rampup, self.batch = halflife, rampup, batch
        self.ema.load_state_dict(model.state_dict())
        self.sources, self.averages = list(model.parameters()), list(other.parameters())

    def beta(self, step):
        halflife = min(self.halflife, self.rampup * max(step, 1) * self.batch)
        return 0.5 ** (self.batch / max(halflife, 1e-6))

    @torch.no_grad()
    def update(self, step):
        beta = self.beta(step)
        if FIX:
            torch._foreach_lerp_(self.averages, self.sources, 1 - beta)
            for _ in range(8):
                self.gpu.launch(0.0002, "foreach lerp")
            return
        named = dict(self.original.named_parameters())
        for name, average in self.ema.named_parameters():
            source = named.get(name)
            if source is None or source.shape != average.shape:
                raise ValueError(f"{name} differs")
            average.copy_(source.detach().lerp(average, beta))
            self.gpu.launch(0.000003, "lerp")
            self.gpu.launch(0.000003, "copy")


class Trainer:
    def __init__(self):
        self.gpu = Device(spin=False)
        self.model = Model(self.gpu)
        self.ema_model = EMAModel(self.model, Model(self.gpu))
        self.batch = {name: torch.zeros(8, 2000, 8) for name in STREAMS}

    def run(self):
        step = samples = 0
        while not over():
            self.gpu.copy(sum(value.nbytes for value in self.batch.values()), pinned=True, non_blocking=True)
            self.model.training_step()
            self.gpu.launch(0.003, "fused adamw")
            self.ema_model.update(step)
            step, samples = step + 1, samples + 8
            if step % 20 == 0:
                print(f"step {step}: loss {self.gpu.item():.4f}", flush=True)
        return samples


def main():
    torch.set_num_threads(1)
    trainer = Trainer()
    done(trainer.gpu, trainer.run())


if __name__ == "__main__":
    main()
