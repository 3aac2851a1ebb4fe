"""Hooks make a histogram of each parameter's gradient in each step (wandb/wandb#315)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, i):
        return torch.zeros(128)


class TorchHistory:
    def __init__(self, gpu, names, log_freq):
        self.gpu, self.names, self.log_freq = gpu, names, log_freq
        self.gradient, self.count, self.history = torch.linspace(-1, 1, 4000), 0, {}

    def log_tensor_stats(self, name):
        """As wandb does for a tensor on the device: its range, a histogram, and both to the host."""
        self.gpu.launch(0.00002, "min, max")
        low, high = self.gpu.item() - 1, self.gpu.item() + 1
        self.gpu.launch(0.00002, "histc")
        counts = torch.histc(self.gradient, bins=64, min=low, max=high)
        self.gpu.item()
        bins = [low + n * (high - low) / 64 for n in range(65)]
        self.history[name] = list(zip(counts.tolist(), bins))

    def add_hooks(self):
        self.count += 1
        if self.count % self.log_freq:
            return
        for name in self.names:
            self.log_tensor_stats(name)


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    names = [f"gradients/layer{n}.{part}" for n in range(40) for part in ("weight", "bias")]
    history = TorchHistory(gpu, names, log_freq=100 if FIX else 1)
    loader = DataLoader(Samples(), batch_size=64, shuffle=True, num_workers=1, pin_memory=True)
    for batch in loader:
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.01, "forward, backward")
        history.add_hooks()
        gpu.launch(0.001, "step")
        samples += len(batch)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
