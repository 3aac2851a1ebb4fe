"""Hugging Face's Trainer with workers and rare logging; the device is busy."""

import tempfile

import torch
from common import done, over
from stoker.emulated import Device
from transformers import Trainer, TrainerCallback, TrainingArguments


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.gpu, self.samples = torch.nn.Linear(16, 2), Device(), 0

    def forward(self, x, labels=None):
        self.gpu.copy(x.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.08, "forward, backward")
        self.samples += len(x)
        logits = self.layer(x)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        return {"x": torch.zeros(16), "labels": i % 2}


class Stop(TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        control.should_training_stop = over()


def main():
    model = Model()
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder, per_device_train_batch_size=16, num_train_epochs=1, use_cpu=True, report_to=[], disable_tqdm=True, save_strategy="no",
            logging_steps=100, dataloader_num_workers=2, dataloader_pin_memory=True,
        )
        Trainer(model, arguments, train_dataset=Rows(), callbacks=[Stop()]).train()
    done(model.gpu, model.samples)


if __name__ == "__main__":
    main()
