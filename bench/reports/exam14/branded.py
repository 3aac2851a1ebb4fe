"""Logos are recognised; a page shows losses, and how the network's gradients are spread."""

# https://github.com/wandb/wandb/issues/2268

import json
import logging
import os
import tempfile
import warnings

import lightning
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

BLOCKS, WIDTH, BATCH, BINS, LOG_FREQ = 60, 24, 16, 64, 1000 if FIX else 10


class Logos(Dataset):
    def __init__(self, count=100_000):
        self.image, self.count = torch.zeros(3, 64, 64, dtype=torch.uint8), count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.image, i % 30


class Run:
    """What the page will show, as lines of a file."""

    def __init__(self, folder, gpu):
        self.file, self.gpu = open(os.path.join(folder, "run.jsonl"), "w"), gpu  # noqa: SIM115

    def log(self, **values):
        print(json.dumps(values), file=self.file)

    def watch(self, model, log_freq):
        """Histograms of the gradients, every so many batches."""
        self.parameters, self.log_freq = dict(model.named_parameters()), log_freq

    def after_backward(self, step):
        if step % self.log_freq:
            return
        for name, parameter in self.parameters.items():
            values = parameter.detach().flatten()
            self.gpu.launch(0.000006, "min, max")
            low, high = values.min().item() + self.gpu.item(), values.max().item() + self.gpu.item()
            self.gpu.launch(0.000009, "histc")
            counts = torch.histc(values, BINS, low, high + 1e-6)
            self.gpu.item()
            self.log(**{f"gradients/{name}": counts.int().tolist(), "min": low, "max": high, "step": step})


class Classifier(lightning.LightningModule):
    """Small weights; the device's work is emulated."""

    def __init__(self, gpu, run):
        super().__init__()
        self.gpu, self.wandb, self.samples, self.automatic_optimization = gpu, run, 0, False
        self.blocks = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(BLOCKS))
        run.watch(self, LOG_FREQ)

    def training_step(self, batch, step):
        self.gpu.copy(batch[0].nbytes)
        self.gpu.launch(0.0011, "efficientnet")
        self.gpu.launch(0.0024, "loss, backward")
        self.wandb.after_backward(step)
        self.gpu.launch(0.0005, "adam")
        self.samples += BATCH
        if step % 100 == 0:
            self.wandb.log(train_loss=self.gpu.item(), step=step)
            print(f"step {step} train_loss {self.gpu.item():.3f}", flush=True)
        if over():
            self.trainer.should_stop = True

    def configure_optimizers(self):
        return None


def main():
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    gpu = Device(spin=False, memory_used=6 << 30)
    with tempfile.TemporaryDirectory() as folder:
        run = Run(folder, gpu)
        model = Classifier(gpu, run)
        trainer = lightning.Trainer(
            accelerator="cpu", max_epochs=-1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
            enable_model_summary=False,
        )  # fmt: skip
        over()
        trainer.fit(model, DataLoader(Logos(), BATCH, num_workers=1, persistent_workers=True))
        run.file.close()
    done(gpu, model.samples)


if __name__ == "__main__":
    main()
