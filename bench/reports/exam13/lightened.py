"""Pictures are learned without labels: a student follows a teacher, which is the student's average."""

# https://github.com/lightly-ai/lightly/pull/1899

import logging
import warnings

import lightning
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

BLOCKS, WIDTH, BATCH, VIEWS = 60, 8, 8, 2


class Views(Dataset):
    def __init__(self, count=40_000):
        self.views, self.count = torch.zeros(VIEWS, 3, 64, 64, dtype=torch.uint8), count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.views


def vit():
    """Small weights; the device's work is emulated."""
    parts = ("qkv", "proj", "fc1", "fc2")
    return torch.nn.ModuleList(
        torch.nn.ModuleDict({part: torch.nn.Linear(WIDTH, WIDTH) for part in parts}) for _ in range(BLOCKS)
    )


@torch.no_grad()
def update_momentum(model, model_ema, m, gpu):
    """Move each weight of the average a little towards the model's."""
    if FIX:
        averages, weights = list(model_ema.parameters()), list(model.parameters())
        torch._foreach_mul_(averages, m)
        torch._foreach_add_(averages, weights, alpha=1 - m)
        gpu.launch(0.0001, "foreach mul, add")
        return
    for average, weight in zip(model_ema.parameters(), model.parameters(), strict=True):
        average.data = average.data * m + weight.data * (1.0 - m)
        for kernel in ("mul", "mul", "add"):
            gpu.launch(0.000002, kernel)


class DINO(lightning.LightningModule):
    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.samples, self.automatic_optimization = gpu, 0, False
        self.student_backbone, self.teacher_backbone = vit(), vit()

    def training_step(self, views, step):
        self.gpu.copy(views.nbytes)
        self.gpu.launch(0.0009, "teacher")
        self.gpu.launch(0.0012, "student")
        self.gpu.launch(0.0029, "dino loss, backward, adamw")
        self.samples += len(views)
        if step % 100 == 0:
            print(f"step {step} train_loss={self.gpu.item():.3f}", flush=True)
        if over():
            self.trainer.should_stop = True

    def on_train_batch_end(self, *_):
        update_momentum(self.student_backbone, self.teacher_backbone, 0.996, self.gpu)

    def configure_optimizers(self):
        return None


def main():
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    model = DINO(Device(spin=False, memory_used=9 << 30))
    loader = DataLoader(Views(), BATCH, num_workers=1, persistent_workers=True)
    trainer = lightning.Trainer(
        accelerator="cpu", max_epochs=-1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False,
    )  # fmt: skip
    over()
    trainer.fit(model, loader)
    done(model.gpu, model.samples)


if __name__ == "__main__":
    main()
