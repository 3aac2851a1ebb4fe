"""A language model learns to follow instructions with the Trainer of Transformers, and is evaluated on the way."""

# https://github.com/databrickslabs/dolly/pull/31
# Cause: eval_steps=10: each ten steps (640 inputs) all of the 1000 inputs kept for evaluation are gone through.
# Fix: eval_steps=100; evaluation had been 15 to 30 % of the time.
# Line: 68, eval_steps of TrainingArguments.

import tempfile
import warnings

import torch
import transformers
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import Dataset

warnings.filterwarnings("ignore")

PER_DEVICE = 64


class Instructions(Dataset):
    def __init__(self, count, length=128):
        self.rows = torch.arange(count * length).view(count, length) % 50_000

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return {"input_ids": self.rows[i], "labels": self.rows[i]}


class GPTJ(torch.nn.Module):
    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.lm_head, self.samples = gpu, torch.nn.Embedding(8, 1), 0

    def forward(self, input_ids, labels):
        self.gpu.copy(input_ids.nbytes + labels.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.011, "28 layers")
        if self.training:
            self.gpu.launch(0.034, "backward, adamw")
            self.samples += len(input_ids)
        return {"loss": self.lm_head(input_ids[:, :1] % 8).mean() ** 2}


class Report(transformers.TrainerCallback):
    def __init__(self, gpu):
        self.gpu = gpu

    def on_step_end(self, args, state, control, **_):
        control.should_training_stop = over()

    def on_prediction_step(self, args, state, control, **_):
        self.gpu.item()  # the loss of each batch is gathered

    def on_evaluate(self, args, state, control, metrics=None, **_):
        print(f"step {state.global_step}: eval_loss {metrics['eval_loss']:.4f}", flush=True)


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False, memory_used=61 << 30)
    model = GPTJ(gpu)
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            folder, per_device_train_batch_size=PER_DEVICE, per_device_eval_batch_size=PER_DEVICE, max_steps=10_000,
            eval_strategy="steps", eval_steps=100 if FIX else 10, logging_steps=10, save_strategy="no", report_to="none",
            disable_tqdm=True, use_cpu=True, dataloader_num_workers=1, dataloader_persistent_workers=True,
        )
        trainer = transformers.Trainer(
            model, arguments, train_dataset=Instructions(14_000), eval_dataset=Instructions(1000), callbacks=[Report(gpu)]
        )
        over()
        trainer.train()
    done(gpu, model.samples)


if __name__ == "__main__":
    main()
