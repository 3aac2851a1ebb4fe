"""A LightningDataModule turns and scales each tile on the host, in its data set (torchgeo/torchgeo#992)."""

import logging

import lightning
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import v2

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class EuroSAT(Dataset):
    """Tiles of thirteen bands, kept in memory as they are stored."""

    def __init__(self, transforms=None):
        self.tiles = torch.randint(0, 10_000, (256, 13, 128, 128), dtype=torch.int16)
        self.transforms = transforms

    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        sample = {"image": self.tiles[i % len(self.tiles)].float(), "label": i % 10}
        if self.transforms:
            sample["image"] = self.transforms(sample["image"])
        return sample


class EuroSATDataModule(lightning.LightningDataModule):
    def __init__(self, gpu):
        super().__init__()
        self.gpu = gpu
        self.augmentations = v2.Compose([
            v2.RandomRotation(30, interpolation=v2.InterpolationMode.BILINEAR), v2.RandomHorizontalFlip(),
            v2.GaussianBlur(5), v2.Normalize([5000.0] * 13, [2000.0] * 13),
        ])

    def setup(self, stage):
        self.train_dataset = EuroSAT(None if FIX else self.augmentations)

    def train_dataloader(self):
        return DataLoader(self.train_dataset, 32, shuffle=True, num_workers=1, pin_memory=True)

    def on_after_batch_transfer(self, batch, _):
        if FIX:
            self.gpu.launch(0.003, "rotation, flip, blur, normalize")
        return batch


class ClassificationTask(lightning.LightningModule):
    def __init__(self, gpu):
        super().__init__()
        self.head, self.gpu, self.samples = torch.nn.Linear(4, 10), gpu, 0

    def training_step(self, batch, _):
        self.gpu.copy(batch["image"].nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.03, "forward, backward")
        self.samples += len(batch["image"])
        self.trainer.should_stop = over()
        return self.head(torch.zeros(1, 4)).sum()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    task = ClassificationTask(gpu)
    trainer = lightning.Trainer(
        max_epochs=1, accelerator="cpu", logger=False, enable_progress_bar=False, enable_checkpointing=False,
        enable_model_summary=False,
    )
    trainer.fit(task, datamodule=EuroSATDataModule(gpu))
    done(gpu, task.samples)


if __name__ == "__main__":
    main()
