"""What lies where in pictures of streets is learned; how well the areas agree is measured on others."""

# https://github.com/Lightning-AI/pytorch-lightning/issues/16113

import logging
import warnings

import lightning
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset
from torchmetrics import JaccardIndex

CLASSES, SIDE, BATCH, TRAIN, VALID = 19, 288, 4, 320, 64


class Streets(Dataset):
    def __init__(self, count):
        generator = torch.Generator().manual_seed(count)
        self.image = torch.randint(0, 255, (3, SIDE, SIDE), dtype=torch.uint8, generator=generator)
        self.mask, self.count = torch.randint(0, CLASSES, (SIDE, SIDE), generator=generator), count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.image, self.mask


class SegmentationModule(lightning.LightningModule):
    """The device's work is emulated; a weight is real, so that there is something to step."""

    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.samples, self.scale = gpu, 0, torch.nn.Parameter(torch.ones(4))
        self.iou_metric = JaccardIndex(task="multiclass", num_classes=CLASSES)

    def forward(self, images):
        self.gpu.copy(images.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.0048, "encoder")
        self.gpu.launch(0.0016, "decoder")

    def training_step(self, batch, _):
        self(batch[0])
        self.gpu.launch(0.0121, "cross entropy, backward, sgd")
        self.samples += len(batch[0])
        if over():
            self.trainer.should_stop = True
        return self.scale.square().mean()

    def validation_step(self, batch, _):
        images, masks = batch
        self(images)
        self.gpu.launch(0.0006, "argmax")
        if FIX:
            self.gpu.launch(0.0008, "confusion matrix")
            return
        self.gpu.item()
        pred_labels = masks.roll(1, 2)
        self.iou_metric.update(pred_labels, masks)

    def on_validation_epoch_end(self):
        value = self.gpu.item() if FIX else float(self.iou_metric.compute())
        self.iou_metric.reset()
        print(f"epoch {self.current_epoch} val_iou={value:.3f}", flush=True)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


def main():
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    model = SegmentationModule(Device(spin=False))
    options = {"num_workers": 1, "pin_memory": True, "persistent_workers": True}
    train, valid = (DataLoader(Streets(count), BATCH, **options) for count in (TRAIN, VALID))
    trainer = lightning.Trainer(
        accelerator="cpu", max_epochs=-1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, num_sanity_val_steps=0,
    )  # fmt: skip
    over()
    trainer.fit(model, train, valid)
    done(model.gpu, model.samples)


if __name__ == "__main__":
    main()
