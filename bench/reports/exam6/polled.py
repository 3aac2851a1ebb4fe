"""A classifier under Lightning, whose trainer also notes how much memory the GPU has in use."""

# https://github.com/Lightning-AI/pytorch-lightning/issues/189
# Cause: memory is logged at each batch by calling nvidia-smi, which takes long on the reporter's cluster.
# Fix: do not log it (or have nvidia-smi run in the background).
# Line: 51, subprocess.run in memory_used.

import os
import stat
import subprocess
import tempfile
import warnings

import lightning
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore")

QUERY = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,nounits,noheader"]


class Images(Dataset):
    def __len__(self):
        return 3200

    def __getitem__(self, i):
        return torch.full((3, 64, 64), i / 3200), i % 10


def driver(folder):
    """The cluster's nvidia-smi: it answers late, and waits rather than computes."""
    path = os.path.join(folder, "nvidia-smi")
    with open(path, "w") as file:
        file.write("#!/bin/sh\nsleep 0.24\necho 4211\n")
    os.chmod(path, stat.S_IRWXU)
    return os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}


class MemoryLog(lightning.Callback):
    def __init__(self, environment):
        self.environment = environment

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if not FIX:
            module.log("memory_used", self.memory_used())

    def memory_used(self):
        answer = subprocess.run(QUERY, capture_output=True, text=True, check=True, env=self.environment)
        return float(answer.stdout)


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.layer, self.gpu, self.samples = torch.nn.Linear(8, 8), None, 0

    def on_fit_start(self):
        self.gpu = Device(spin=False)

    def training_step(self, batch, batch_idx):
        images, labels = batch
        self.gpu.copy(images.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.009, "forward")
        self.gpu.launch(0.018, "backward, sgd")
        if batch_idx % 20 == 19:
            self.log("loss", self.gpu.item())
        self.samples += len(labels)
        if over():
            self.trainer.should_stop = True

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main():
    torch.set_num_threads(1)
    loader = DataLoader(Images(), 32, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    model = Classifier()
    over()
    with tempfile.TemporaryDirectory() as folder:
        trainer = lightning.Trainer(
            accelerator="cpu", max_epochs=-1, min_epochs=0, logger=False, enable_checkpointing=False, enable_progress_bar=False,
            enable_model_summary=False, callbacks=[MemoryLog(driver(folder))],
        )
        trainer.fit(model, loader)
    done(model.gpu, model.samples)


if __name__ == "__main__":
    main()
