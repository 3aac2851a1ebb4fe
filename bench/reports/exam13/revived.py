"""A voice for a small language is learned from few recordings; spectrograms are drawn when it is validated."""

# https://github.com/EveryVoiceTTS/EveryVoice/pull/218

import logging
import os
import tempfile
import warnings

import cv2
import lightning
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

TRAIN, VALID, BATCH, FRAMES, MELS, HOP, CHECK_EVERY = 192, 48, 8, 160, 80, 64, 10 if FIX else 1


class FeaturePredictionDataset(Dataset):
    def __init__(self, count):
        self.mel, self.count = torch.rand(FRAMES, MELS), count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return {"mel": self.mel, "text": torch.full((60,), i % 40)}


def griffin_lim(mel, rounds=16):
    """A wave whose spectrum is about that of the picture."""
    spectrum = numpy.repeat(mel, 2, 1)[:, :129].astype(numpy.complex64)
    for _ in range(rounds):
        frames = numpy.fft.irfft(spectrum, 256)
        wave = numpy.zeros(HOP * len(frames) + 256, numpy.float32)
        for start, frame in enumerate(frames):
            wave[start * HOP : start * HOP + 256] += frame
        windows = numpy.lib.stride_tricks.sliding_window_view(wave, 256)[::HOP][: len(frames)]
        angles = numpy.fft.rfft(windows)
        spectrum = numpy.abs(spectrum) * angles / (numpy.abs(angles) + 1e-6)
    return wave


class FastSpeech2(lightning.LightningModule):
    """The device's work is emulated."""

    def __init__(self, gpu, folder):
        super().__init__()
        self.gpu, self.folder, self.samples, self.automatic_optimization = gpu, folder, 0, False

    def forward(self, batch):
        self.gpu.copy(sum(part.nbytes for part in batch.values()))
        self.gpu.launch(0.0049, "encoder, variance adaptor, decoder")

    def training_step(self, batch, _):
        self(batch)
        self.gpu.launch(0.0077, "backward, adamw")
        self.samples += BATCH
        if over():
            self.trainer.should_stop = True

    def validation_step(self, batch, number):
        self(batch)
        self.gpu.item()
        mel = batch["mel"][0].numpy()
        picture = cv2.applyColorMap((mel * 255).astype(numpy.uint8), cv2.COLORMAP_VIRIDIS)
        cv2.imwrite(os.path.join(self.folder, f"{number}.png"), cv2.resize(picture, (640, 320)))
        numpy.save(os.path.join(self.folder, f"{number}.npy"), griffin_lim(mel))

    def on_validation_epoch_end(self):
        print(f"epoch {self.current_epoch} validation/total_loss={self.gpu.item():.3f}", flush=True)

    def configure_optimizers(self):
        return None


def main():
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    options = {"num_workers": 1, "persistent_workers": True}
    train, valid = (DataLoader(FeaturePredictionDataset(count), BATCH, **options) for count in (TRAIN, VALID))
    with tempfile.TemporaryDirectory() as folder:
        model = FastSpeech2(Device(spin=False, memory_used=6 << 30), folder)
        trainer = lightning.Trainer(
            accelerator="cpu", max_epochs=-1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
            enable_model_summary=False, num_sanity_val_steps=0, check_val_every_n_epoch=CHECK_EVERY,
        )  # fmt: skip
        over()
        trainer.fit(model, train, valid)
        done(model.gpu, model.samples)


if __name__ == "__main__":
    main()
