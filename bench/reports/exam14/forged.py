"""A language model is trained by a recipe of a benchmark suite, which writes a line for each step."""

# https://github.com/NVIDIA/cloudai/pull/947

import csv
import logging
import os
import tempfile
import warnings

import lightning
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

BATCH, LENGTH, LAYERS, LOG_EVERY_N_STEPS = 4, 2048, 16, 50 if FIX else 1


class MockDataModule(Dataset):
    def __init__(self, count=50_000):
        self.ids, self.count = torch.arange(LENGTH), count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.ids


class MegatronGPT(lightning.LightningModule):
    """The device's work is emulated."""

    def __init__(self, gpu, file):
        super().__init__()
        self.gpu, self.file, self.lines, self.losses = gpu, file, csv.writer(file), []
        self.samples, self.automatic_optimization = 0, False

    def training_step(self, ids, step):
        self.gpu.copy(ids.nbytes, pinned=True, non_blocking=True)
        for layer in range(LAYERS):
            self.gpu.launch(0.0017, f"layer {layer}")
        self.gpu.launch(0.0545, "loss, backward")
        self.gpu.launch(0.0035, "distributed adam")
        self.losses.append(self.gpu.event())
        self.samples += BATCH
        if step % LOG_EVERY_N_STEPS == 0:
            self.log_step(step)
        if over():
            self.trainer.should_stop = True

    def log_step(self, step):
        """The loss of the step before this one is there already."""
        self.losses = self.losses[-2:]
        self.losses[0].synchronize()
        self.lines.writerow([step, "reduced_train_loss", 0.0, "consumed_samples", self.samples, "lr", 3e-4])
        self.file.flush()
        if step % 50 == 0:
            print(f"Training epoch 0, iteration {step} | consumed_samples: {self.samples}", flush=True)

    def configure_optimizers(self):
        return None


def main():
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "metrics.csv"), "w") as file:
        model = MegatronGPT(Device(spin=False, memory_used=61 << 30), file)
        trainer = lightning.Trainer(
            accelerator="cpu", max_epochs=-1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
            enable_model_summary=False,
        )  # fmt: skip
        over()
        trainer.fit(model, DataLoader(MockDataModule(), BATCH, num_workers=1, persistent_workers=True))
        done(model.gpu, model.samples)


if __name__ == "__main__":
    main()
