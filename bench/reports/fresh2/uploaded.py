"""Training stops while each checkpoint is uploaded to a bucket (GoogleCloudPlatform/gcs-connector-for-pytorch#116)."""

import io
import logging
import tempfile
import time

import lightning
import torch
from common import FIX, done, over
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.plugins.io import AsyncCheckpointIO, TorchCheckpointIO
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Demo(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        return torch.zeros(64)


class DatafluxLightningCheckpoint(TorchCheckpointIO):
    def __init__(self, bucket):
        super().__init__()
        self.bucket = bucket

    def save_checkpoint(self, checkpoint, path, storage_options=None):
        buffer = io.BytesIO()
        torch.save(checkpoint, buffer)
        self.upload_from_file(buffer)

    def upload_from_file(self, buffer):
        self.bucket.seek(0)
        self.bucket.write(buffer.getvalue())
        time.sleep(0.8)  # a network

    def remove_checkpoint(self, path):
        pass


class LightningTransformer(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model, self.gpu, self.samples = torch.nn.Linear(64, 64), Device(spin=False), 0

    def training_step(self, batch, _):
        self.gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        loss = self.model(batch).square().mean()
        self.gpu.launch(0.025, "forward, backward")
        self.gpu.item()
        self.samples += len(batch)
        self.trainer.should_stop = over()
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


def main():
    torch.set_num_threads(1)
    module = LightningTransformer()
    loader = DataLoader(Demo(), batch_size=16, shuffle=True, num_workers=1, pin_memory=True)
    with tempfile.TemporaryFile() as bucket:
        dataflux = DatafluxLightningCheckpoint(bucket)
        trainer = lightning.Trainer(
            max_epochs=1, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
            plugins=[AsyncCheckpointIO(dataflux) if FIX else dataflux],
            callbacks=[ModelCheckpoint(save_top_k=-1, every_n_train_steps=40, dirpath=tempfile.gettempdir())],
        )
        trainer.fit(module, loader)
        done(module.gpu, module.samples)


if __name__ == "__main__":
    main()
