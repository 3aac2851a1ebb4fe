"""Spanish speech is recognised: a big network is tuned, and batches hold recordings of about one length."""

# https://github.com/huggingface/transformers/issues/10909

import os
import tempfile
import time

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_pt_utils import LengthGroupedSampler

RECORDINGS, BATCH, READ = 3500, 8, 0.002


class CommonVoice(Dataset):
    """Features of a recording lie in a file on a server."""

    def __init__(self, folder):
        draw = numpy.random.default_rng(0)
        self.lengths = (2000 + draw.integers(0, 6000, RECORDINGS)).tolist()
        self.path = os.path.join(folder, "features.npy")
        numpy.save(self.path, draw.integers(-3000, 3000, 8000, dtype=numpy.int16))

    def __len__(self):
        return RECORDINGS

    def __getitem__(self, i):
        time.sleep(READ)
        values = numpy.load(self.path)[: self.lengths[i]].astype(numpy.float32) / 32768
        return {"input_values": values, "labels": [i % 30] * 20}


class FeatureExtractor:
    model_input_names = ["input_values"]


def data_collator(features):
    longest = max(len(feature["input_values"]) for feature in features)
    values = numpy.zeros((len(features), longest), numpy.float32)
    for row, feature in zip(values, features, strict=True):
        row[: len(feature["input_values"])] = feature["input_values"]
    labels = torch.tensor([feature["labels"] for feature in features])
    return {"input_values": torch.from_numpy(values), "labels": labels}


class Wav2Vec2ForCTC(torch.nn.Module):
    """The device's work is emulated; a weight is real, so that there is something to step."""

    main_input_name = "input_values"

    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.samples, self.scale = gpu, 0, torch.nn.Parameter(torch.ones(8))

    def forward(self, input_values, labels=None):
        self.gpu.copy(input_values.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.0093, "feature extractor")
        for layer in range(12):
            self.gpu.launch(0.0009, f"layer {layer}")
        self.gpu.launch(0.0215, "ctc, backward, adamw")
        self.samples += len(input_values)
        return {"loss": self.scale.square().mean()}


class AsrTrainer(Trainer):
    def _get_train_sampler(self, dataset=None):
        if not FIX:
            return super()._get_train_sampler(dataset)
        return LengthGroupedSampler(BATCH, lengths=self.train_dataset.lengths)


class Stop(TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        control.should_training_stop = over()


def main():
    torch.set_num_threads(1)
    model = Wav2Vec2ForCTC(Device(spin=False, memory_used=21 << 30))
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder, per_device_train_batch_size=BATCH, num_train_epochs=10, use_cpu=True, report_to=[],
            disable_tqdm=True, optim="sgd", save_strategy="no", logging_steps=50, dataloader_num_workers=2,
            max_grad_norm=0, train_sampling_strategy="group_by_length",
        )  # fmt: skip
        trainer = AsrTrainer(
            model, arguments, train_dataset=CommonVoice(folder), data_collator=data_collator, callbacks=[Stop()],
            processing_class=FeatureExtractor(),
        )  # fmt: skip
        over()
        trainer.train()
    done(model.gpu, model.samples)


if __name__ == "__main__":
    main()
