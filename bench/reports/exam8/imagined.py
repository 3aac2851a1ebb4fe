"""The first stage of latent diffusion: an autoencoder with a discriminator, on pictures of a thousand kinds."""

# https://github.com/CompVis/latent-diffusion/issues/373
# Cause: none: "it shows 2.14s/it. is it normal?" - "with a standard batch size, yes, this duration is typical". Healthy.
# Fix: nothing to change (--fix has pictures that are decoded already, which gains nothing).
# Line: none.

import io
import warnings

import lightning
import numpy
import torch
from common import FIX, done, over
from PIL import Image
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore")


class ImageNetTrain(Dataset):
    def __init__(self, size=256):
        draw = numpy.random.default_rng(0)
        picture = Image.fromarray(draw.integers(0, 255, (40, 50, 3), dtype=numpy.uint8)).resize((500, 400), Image.BICUBIC)
        file = io.BytesIO()
        picture.save(file, "JPEG", quality=92)
        self.jpeg, self.size, self.ready = file.getvalue(), size, torch.zeros(size, size, 3)

    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        if FIX:
            return {"image": self.ready}
        image = Image.open(io.BytesIO(self.jpeg)).convert("RGB")
        side = numpy.random.randint(self.size, min(image.size) + 1)
        x, y = numpy.random.randint(0, image.width - side + 1), numpy.random.randint(0, image.height - side + 1)
        image = image.crop((x, y, x + side, y + side)).resize((self.size, self.size), Image.BICUBIC)
        return {"image": torch.from_numpy((numpy.asarray(image, numpy.float32) / 127.5) - 1)}


class AutoencoderKL(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.quant_conv, self.gpu, self.samples = torch.nn.Linear(8, 8), None, 0

    def on_fit_start(self):
        self.gpu = Device(spin=False, memory_used=44 << 30)

    def training_step(self, batch, batch_idx):
        self.gpu.copy(batch["image"].nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.31, "encoder")
        self.gpu.launch(0.42, "decoder")
        self.gpu.launch(0.16, "lpips, discriminator")
        self.gpu.launch(0.98, "backward, adam")
        self.log("train/aeloss", self.gpu.item())
        self.gpu.launch(0.21, "discriminator, backward, adam")
        self.log("train/discloss", self.gpu.item())
        self.samples += len(batch["image"])
        print(f"Epoch 0: {batch_idx + 1}/12500, aeloss=0.000", flush=True)
        if over():
            self.trainer.should_stop = True

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=4.5e-6)


def main():
    torch.set_num_threads(1)
    loader = DataLoader(ImageNetTrain(), 8, shuffle=True, num_workers=2, pin_memory=True)
    model = AutoencoderKL()
    over()
    trainer = lightning.Trainer(
        accelerator="cpu", max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, loader)
    done(model.gpu, model.samples)


if __name__ == "__main__":
    main()
