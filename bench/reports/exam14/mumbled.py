"""A recogniser of speech is tuned by a trainer, which puts recordings of about the same length together."""

# https://github.com/huggingface/transformers/issues/10909

import tempfile
import time

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import Dataset, Sampler
from transformers import Trainer, TrainerCallback, TrainingArguments

COUNT, BATCH, RATE, MEGABATCH, READ = 2000, 8, 16_000, 50, 0.0014


class CommonVoice(Dataset):
    """Recordings of up to a second; they are read, and features made, when one is asked for."""

    def __init__(self):
        draw = numpy.random.default_rng(0)
        self.seconds = draw.uniform(0.3, 1, COUNT)
        self.sound = draw.normal(size=RATE).astype(numpy.float32)
        self.bank = torch.rand(201, 80)

    def __len__(self):
        return COUNT

    def read(self, i):
        time.sleep(READ)
        return self.sound[: int(self.seconds[i] * RATE)]

    def __getitem__(self, i):
        wave = self.read(i)
        frames = numpy.lib.stride_tricks.sliding_window_view(wave, 400)[::160]
        power = numpy.abs(numpy.fft.rfft(frames * numpy.hanning(400).astype(numpy.float32))).astype(numpy.float32)
        values = torch.log(torch.from_numpy(power) @ self.bank + 1e-6)
        return {"input_values": values, "labels": torch.full((40,), i % 30)}

    def length(self, i):
        return int(self.seconds[i] * RATE) // 160


class LengthGroupedSampler(Sampler):
    """Longest first within each fifty batches."""

    def __init__(self, dataset, lengths=None):
        self.lengths = lengths or [len(feature["input_values"]) for feature in dataset]

    def __len__(self):
        return len(self.lengths)

    def __iter__(self):
        order, size = torch.randperm(len(self.lengths)).tolist(), MEGABATCH * BATCH
        for start in range(0, len(order), size):
            yield from sorted(order[start : start + size], key=lambda i: -self.lengths[i])


def collate(features):
    longest = max(len(f["input_values"]) for f in features)
    values = torch.zeros(len(features), longest, 80)
    for row, feature in zip(values, features, strict=True):
        row[: len(feature["input_values"])] = feature["input_values"]
    return {"input_values": values, "labels": torch.stack([f["labels"] for f in features])}


class Wav2Vec2ForCTC(torch.nn.Module):
    """The device's work is emulated; some weights are real, so that there is something to step."""

    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.samples, self.scale = gpu, 0, torch.nn.Parameter(torch.ones(8))

    def forward(self, input_values, labels):
        self.gpu.copy(input_values.nbytes)
        self.gpu.launch(0.016, "feature encoder, transformer")
        self.gpu.launch(0.034, "ctc, backward, adamw")
        self.samples += len(labels)
        return {"loss": (self.scale**2).mean()}


class Stop(TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        control.should_training_stop = over()


class CTCTrainer(Trainer):
    def _get_train_sampler(self, *_):
        dataset = self.train_dataset
        return LengthGroupedSampler(dataset, [dataset.length(i) for i in range(len(dataset))] if FIX else None)


def main():
    torch.set_num_threads(1)
    model = Wav2Vec2ForCTC(Device(spin=False, memory_used=14 << 30))
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder, per_device_train_batch_size=BATCH, num_train_epochs=40, use_cpu=True, report_to=[],
            save_strategy="no", logging_steps=50, disable_tqdm=True, dataloader_num_workers=1,
            dataloader_persistent_workers=True,
        )  # fmt: skip
        over()
        options = {"train_dataset": CommonVoice(), "data_collator": collate, "callbacks": [Stop()]}
        CTCTrainer(model, arguments, **options).train()
    done(model.gpu, model.samples)


if __name__ == "__main__":
    main()
