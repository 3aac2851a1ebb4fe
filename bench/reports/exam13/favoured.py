"""A language model is tuned to prefer the better of two answers."""

# https://github.com/huggingface/trl/pull/1154

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

PAIRS, BATCH, LENGTH, VOCABULARY = 20_000, 4, 192, 8192
METRICS = [f"{what}/{which}" for what in ("rewards", "logps", "logits") for which in ("chosen", "rejected")]


class Preferences(Dataset):
    def __init__(self):
        self.ids = torch.randint(0, VOCABULARY, (64, 2, LENGTH))

    def __len__(self):
        return PAIRS

    def __getitem__(self, i):
        return {"chosen_input_ids": self.ids[i % 64, 0], "rejected_input_ids": self.ids[i % 64, 1]}


class Logits:
    """A tensor on the device; its numbers on the host stand for it."""

    def __init__(self, gpu, values):
        self.gpu, self.values = gpu, values

    def cpu(self):
        self.gpu.copy(self.values.nbytes)
        return self.values

    def mean(self):
        self.gpu.launch(0.00002, "mean")
        return Logits(self.gpu, self.values.flatten()[:1])


class DPOTrainer:
    def __init__(self, gpu):
        self.gpu, self.stored = gpu, {}
        self.logits = [Logits(gpu, torch.randn(BATCH, LENGTH, VOCABULARY)) for _ in range(2)]
        self.rewards = [Logits(gpu, torch.zeros(BATCH)) for _ in range(4)]

    def concatenated_forward(self, batch):
        self.gpu.copy(sum(part.nbytes for part in batch.values()))
        self.gpu.launch(0.0078, "policy")
        self.gpu.launch(0.0071, "reference")

    def get_batch_loss_metrics(self, batch):
        self.concatenated_forward(batch)
        self.gpu.launch(0.0002, "dpo loss")
        metrics = {}
        for name, values in zip(METRICS, [*self.rewards, *self.logits], strict=True):
            metrics[name] = values.mean().cpu() if FIX else values.cpu().mean()
        return metrics

    def training_step(self, batch):
        metrics = self.get_batch_loss_metrics(batch)
        self.gpu.launch(0.0114, "backward, adamw")
        for name, value in metrics.items():
            self.stored.setdefault(name, []).append(float(value))

    def log(self, step):
        means = {name: round(sum(values) / len(values), 3) for name, values in self.stored.items()}
        print({"loss": self.gpu.item(), **means, "step": step}, flush=True)
        self.stored.clear()


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=61 << 30), 0, 0
    trainer = DPOTrainer(gpu)
    loader = DataLoader(Preferences(), BATCH, shuffle=True, num_workers=1, persistent_workers=True)
    while not over():
        for batch in loader:
            trainer.training_step(batch)
            step, samples = step + 1, samples + BATCH
            if step % 25 == 0:
                trainer.log(step)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
