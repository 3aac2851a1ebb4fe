"""Who speaks when in a meeting is learned from crops of some seconds, cut anywhere from long recordings."""

# https://github.com/pyannote/pyannote-audio/pull/934

import logging
import tempfile
import time
import warnings
import wave
from pathlib import Path

import lightning
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, IterableDataset

RATE, MINUTES, DURATION, BATCH, OPEN = 16_000, 1, 2, 16, 0.003


def record(folder, count=6):
    draw = numpy.random.default_rng(0)
    for meeting in range(count):
        with wave.open(f"{folder}/meeting{meeting}.wav", "wb") as file:
            file.setparams((1, 2, RATE, 0, "NONE", ""))
            file.writeframes(draw.integers(-3000, 3000, RATE * 60 * MINUTES, dtype=numpy.int16).tobytes())


def info(path):
    """Length and rate of a file, as its header says; the server takes a while to find it."""
    time.sleep(OPEN)
    with wave.open(str(path), "rb") as file:
        return file.getnframes(), file.getframerate()


class Audio:
    def __init__(self, folder):
        self.files, self.known = sorted(Path(folder).glob("*.wav")), {}
        self.opened = {path: numpy.memmap(path, numpy.int16, "r", offset=44) for path in self.files}

    def metadata(self, path):
        if not FIX:
            return info(path)
        if path not in self.known:
            self.known[path] = info(path)
        return self.known[path]

    def get_duration(self, path):
        frames, rate = self.metadata(path)
        return frames / rate

    def crop(self, path, start):
        rate = self.metadata(path)[1]
        first = int(start * rate)
        frames = self.opened[path][first : first + DURATION * rate]
        return torch.from_numpy(frames.astype(numpy.float32) / 32768)


class SegmentationTask(IterableDataset):
    def __init__(self, folder):
        self.audio = Audio(folder)

    def __iter__(self):
        draw = numpy.random.default_rng(0)
        while True:
            path = self.audio.files[draw.integers(len(self.audio.files))]
            start = draw.uniform(0, self.audio.get_duration(path) - DURATION)
            yield self.audio.crop(path, start), int(start)


class PyanNet(lightning.LightningModule):
    """The device's work is emulated; a weight is real, so that there is something to step."""

    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.samples, self.scale = gpu, 0, torch.nn.Parameter(torch.ones(4))

    def training_step(self, batch, _):
        waveforms, _ = batch
        self.gpu.copy(waveforms.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.0072, "sincnet, lstm")
        self.gpu.launch(0.0125, "permutation, bce, backward, adam")
        self.samples += len(waveforms)
        if over():
            self.trainer.should_stop = True
        return self.scale.square().mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


def main():
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    model = PyanNet(Device(spin=False))
    with tempfile.TemporaryDirectory() as folder:
        record(folder)
        loader = DataLoader(SegmentationTask(folder), BATCH, num_workers=1, pin_memory=True)
        trainer = lightning.Trainer(
            accelerator="cpu", max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
            enable_model_summary=False,
        )  # fmt: skip
        over()
        trainer.fit(model, loader)
    done(model.gpu, model.samples)


if __name__ == "__main__":
    main()
