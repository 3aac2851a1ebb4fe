"""A small classifier of parts on a belt, under Lightning, with settings chosen for training on a CPU."""

# https://github.com/open-edge-platform/geti/pull/5958
# Cause: two workers, which were enough for training on a CPU; the GPU waits 217 ms for each batch, 70 to 92 % of the time.
# Fix: more workers: 3 to 13 iterations a second.
# Line: 79, num_workers of the train subset (each file is waited for at 35).

import os
import tempfile
import time
import warnings

import cv2
import lightning
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore")


class Volume:
    """The workspace's volume: it answers late, however many ask."""

    def __init__(self, folder, count=24):
        self.folder, self.count = folder, count
        draw = numpy.random.default_rng(0)
        for i in range(count):
            picture = cv2.GaussianBlur(draw.integers(0, 255, (240, 320, 3), dtype=numpy.uint8), (0, 0), 3)
            cv2.imwrite(os.path.join(folder, f"{i}.jpg"), picture)

    def read(self, i):
        time.sleep(0.038)
        return numpy.fromfile(os.path.join(self.folder, f"{i % self.count}.jpg"), numpy.uint8)


class Items(Dataset):
    def __init__(self, volume, count=2000):
        self.volume, self.count = volume, count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        picture = cv2.imdecode(self.volume.read(i), cv2.IMREAD_COLOR)
        picture = cv2.resize(picture, (224, 224))[:, :: 1 - 2 * (i % 2)]
        return torch.from_numpy(numpy.ascontiguousarray(picture)).permute(2, 0, 1), i % 4


class OTXModule(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.head, self.gpu, self.samples = torch.nn.Linear(8, 4), None, 0

    def on_fit_start(self):
        self.gpu = Device(spin=False)

    def training_step(self, batch, batch_idx):
        images, labels = batch
        self.gpu.copy(images.nbytes + labels.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.022, "efficientnet")
        self.gpu.launch(0.045, "backward, sgd")
        self.samples += len(labels)
        if batch_idx % 10 == 9:
            self.log("train/loss", self.gpu.item())
        if over():
            self.trainer.should_stop = True

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    subset = {"batch_size": 16, "num_workers": 8 if FIX else 2}
    with tempfile.TemporaryDirectory() as folder:
        loader = DataLoader(Items(Volume(folder)), shuffle=True, pin_memory=True, persistent_workers=True, **subset)
        module = OTXModule()
        over()
        engine = lightning.Trainer(
            accelerator="cpu", max_epochs=-1, min_epochs=0, logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False,
        )
        engine.fit(module, loader)
        done(module.gpu, module.samples)


if __name__ == "__main__":
    main()
