"""A LightningModule whose logger writes its metrics to disk in each step (Lightning-AI/pytorch-lightning#1986)."""

import json
import logging
import os
import tempfile

import lightning
import torch
from common import FIX, done, over
from lightning.pytorch.loggers.logger import DummyLogger
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class EventLogger(DummyLogger):
    def __init__(self, path):
        super().__init__()
        self.file = open(path, "w")  # noqa: SIM115

    def log_metrics(self, metrics, step=None):
        for name, value in metrics.items():
            self.file.write(json.dumps({"tag": name, "simple_value": value, "step": step}) + "\n")
            self.file.flush()
            os.fsync(self.file.fileno())


class Sentences(Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, i):
        return torch.zeros(50)

    def __getitems__(self, indices):
        return torch.zeros(len(indices), 50)


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model, self.gpu, self.samples = torch.nn.Linear(50, 4), Device(), 0

    def training_step(self, batch, _):
        self.gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        loss = self.model(batch).square().mean()
        self.gpu.launch(0.001, "forward, backward")
        for metric in ("loss", "accuracy", "precision", "recall", "perplexity", "rate"):
            self.log(metric, loss.detach())
        self.samples += len(batch)
        self.trainer.should_stop = over()
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main():
    torch.set_num_threads(1)
    every = 1000 if FIX else 1
    module = Classifier()
    with tempfile.TemporaryDirectory(dir=".") as folder:
        trainer = lightning.Trainer(
            max_epochs=1, accelerator="cpu", logger=EventLogger(f"{folder}/events"), log_every_n_steps=every,
            enable_progress_bar=False, enable_checkpointing=False, enable_model_summary=False,
        )
        trainer.fit(module, DataLoader(Sentences(), 32, num_workers=1, pin_memory=True, collate_fn=lambda rows: rows))
        done(module.gpu, module.samples)


if __name__ == "__main__":
    main()
