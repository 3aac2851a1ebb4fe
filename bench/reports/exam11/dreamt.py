"""A picture model learns a style from latents that were encoded once and lie on the disk."""

# https://github.com/Nerogar/OneTrainer/pull/1608

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

BATCH, CHANNELS, LAYERS = 2, 128, 120


class CachedLatents(Dataset):
    def __init__(self, count=4000):
        self.latent, self.prompt, self.count = torch.zeros(CHANNELS, 64, 64), torch.zeros(512, 1536), count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.latent, self.prompt


class Vae:
    """Moved away while latents are at hand; only its statistics are asked for."""

    def __init__(self, gpu):
        self.gpu, self.device = gpu, "cpu"
        self.running_mean, self.running_var = torch.zeros(CHANNELS), torch.ones(CHANNELS)

    def to(self, device):
        if device != self.device:
            self.gpu.copy(self.running_mean.nbytes + self.running_var.nbytes)
            self.device = device
        return self

    def statistics(self):
        if self.device == "cpu":
            self.gpu.copy(self.running_mean.nbytes)
            self.gpu.copy(self.running_var.nbytes)
        return self.running_mean, (self.running_var + 1e-4).sqrt()


class Flux2Model:
    def __init__(self, gpu):
        self.gpu, self.vae = gpu, Vae(gpu)
        self.blocks = [torch.zeros(24, 24) for _ in range(LAYERS)]

    def scale_latents(self, latents):
        mean, deviation = self.vae.statistics()
        self.gpu.launch(0.00005, "scale")
        return latents, mean, deviation

    def predict(self, latents):
        """Each block's calls take the host a moment; its kernels run later."""
        latents, mean, deviation = self.scale_latents(latents)
        hidden = mean[:24]
        for block in self.blocks:
            hidden = torch.nn.functional.silu(torch.addmv(hidden, block, hidden))
            hidden = torch.nn.functional.layer_norm(hidden, (24,)) / deviation[:24]
            for kernel in ("norm", "qkv", "rope", "attention", "projection", "mlp"):
                self.gpu.launch(0.000017, kernel)
        return hidden

    def backward(self):
        for block in self.blocks:
            block.mul_(0.999).add_(0.001)
            for kernel in ("mlp", "attention", "qkv", "norm", "lora a", "lora b"):
                self.gpu.launch(0.000032, kernel)


class GenericTrainer:
    def __init__(self, model):
        self.model, self.gpu, self.ema_loss, self.pending = model, model.gpu, 0.0, None

    def exchange(self):
        """The loss of the update before, which has long been there."""
        if self.pending is not None:
            self.pending.synchronize()
        self.pending = self.gpu.event()
        return 0.0

    def train_step(self, latents, prompts):
        self.gpu.copy(latents.nbytes + prompts.nbytes, pinned=True, non_blocking=True)
        self.model.predict(latents)
        self.model.backward()
        self.gpu.launch(0.0012, "adamw")
        loss = self.exchange() if FIX else self.gpu.item()
        self.ema_loss = 0.99 * self.ema_loss + 0.01 * loss


def main():
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    gpu, samples, step = Device(spin=False, memory_used=20 << 30), 0, 0
    model = Flux2Model(gpu)
    if FIX:
        model.vae.to("cuda")
    trainer = GenericTrainer(model)
    loader = DataLoader(CachedLatents(), BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for latents, prompts in loader:
            trainer.train_step(latents, prompts)
            step, samples = step + 1, samples + len(latents)
            if step % 50 == 0:
                print(f"step: {step} smooth loss={trainer.ema_loss:.4f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
