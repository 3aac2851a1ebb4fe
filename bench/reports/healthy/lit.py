"""A LightningModule with validation each epoch; the device is busy."""

import logging

import lightning
import torch
from common import done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Pictures(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return torch.zeros(16)


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model, self.gpu, self.samples = torch.nn.Linear(16, 4), Device(), 0

    def training_step(self, batch, _):
        self.gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        loss = self.model(batch).square().mean()
        self.gpu.launch(0.08, "forward, backward")
        self.samples += len(batch)
        self.trainer.should_stop = over()
        return loss

    def validation_step(self, batch, _):
        self.model(batch)
        self.gpu.launch(0.03, "forward")

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


def main():
    module = Module()
    trainer = lightning.Trainer(
        max_epochs=100, min_steps=None, accelerator="cpu", logger=False, enable_progress_bar=False, enable_checkpointing=False,
        enable_model_summary=False,
    )
    loader = {"num_workers": 1, "pin_memory": True, "persistent_workers": True}
    trainer.fit(module, DataLoader(Pictures(3200), 16, shuffle=True, **loader), DataLoader(Pictures(160), 16, **loader))
    done(module.gpu, module.samples)


if __name__ == "__main__":
    main()
