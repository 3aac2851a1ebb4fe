"""Poses of animals on video under Lightning, with as many workers as the reader's machine can bear."""

# https://github.com/paninski-lab/lightning-pose/issues/164
# Cause: none: "the major part of the process is done on GPU", more workers give nothing of note. Healthy.
# Fix: nothing to change (--fix runs with one worker more, which gains nothing).
# Line: none.

import warnings

import cv2
import lightning
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore")


class Frames(Dataset):
    def __init__(self, count=2000):
        self.count = count
        picture = numpy.random.default_rng(0).integers(0, 255, (256, 256, 3), dtype=numpy.uint8)
        self.jpeg = cv2.imencode(".jpg", cv2.GaussianBlur(picture, (0, 0), 3))[1]

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        picture = cv2.imdecode(self.jpeg, cv2.IMREAD_COLOR)
        turned = cv2.warpAffine(picture, cv2.getRotationMatrix2D((128, 128), i % 20 - 10, 1.0), (256, 256))
        return torch.from_numpy(turned).permute(2, 0, 1), torch.rand(17, 2)


class HeatmapTracker(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.layer, self.gpu, self.samples = torch.nn.Linear(8, 8), None, 0

    def on_fit_start(self):
        self.gpu = Device(spin=False, memory_used=46 << 30)

    def training_step(self, batch, batch_idx):
        pictures, keypoints = batch
        self.gpu.copy(pictures.nbytes + keypoints.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.07, "resnet, heatmaps")
        self.gpu.launch(0.15, "backward, adam")
        self.samples += len(pictures)
        if batch_idx % 10 == 9:
            self.log("train_loss", self.gpu.item())
        if over():
            self.trainer.should_stop = True

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    loader = DataLoader(Frames(), 16, shuffle=True, num_workers=2 if FIX else 1, pin_memory=True, persistent_workers=True)
    model = HeatmapTracker()
    over()
    trainer = lightning.Trainer(
        accelerator="cpu", max_epochs=-1, min_epochs=0, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, loader)
    done(model.gpu, model.samples)


if __name__ == "__main__":
    main()
