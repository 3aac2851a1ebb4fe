"""Words that are hidden in text are guessed; a trainer runs the loop, and a function thins the logits for metrics."""

# https://github.com/microsoft/onnxruntime-training-examples/pull/78

import tempfile

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments

BATCH, LENGTH = 8, 512


class Blocks(Dataset):
    def __init__(self, count):
        self.ids, self.count = torch.randint(0, 30_000, (64, LENGTH)), count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return {"input_ids": self.ids[i % 64], "labels": self.ids[i % 64]}


class BertForMaskedLM(torch.nn.Module):
    """The device's work is emulated; some weights are real, so that there is something to step."""

    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.samples, self.scale = gpu, 0, torch.nn.Parameter(torch.ones(8))

    def forward(self, input_ids, labels=None):
        self.gpu.copy(input_ids.nbytes + labels.nbytes, pinned=True, non_blocking=True)
        for layer in range(24):
            self.gpu.launch(0.0006, f"layer {layer}")
        loss = (self.scale**2).mean()
        if not self.training:
            return {"loss": loss, "logits": torch.zeros(len(input_ids), 8, 16)}
        self.gpu.launch(0.0294, "loss, backward, adamw")
        self.samples += len(input_ids)
        return {"loss": loss}


class Stop(TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        control.should_training_stop = over()


def preprocess_logits_for_metrics(logits, _):
    return logits.argmax(-1)


def compute_metrics(predictions):
    return {"accuracy": float((predictions.predictions == 0).mean())}


def main():
    torch.set_num_threads(1)
    model = BertForMaskedLM(Device(spin=False, memory_used=28 << 30))
    thinned = {} if FIX else {"preprocess_logits_for_metrics": preprocess_logits_for_metrics}
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder, per_device_train_batch_size=BATCH, num_train_epochs=1, use_cpu=True, report_to=[],
            save_strategy="no", eval_strategy="steps", eval_steps=150, logging_steps=50, disable_tqdm=True,
            dataloader_num_workers=1,
        )  # fmt: skip
        data = {"train_dataset": Blocks(100_000), "eval_dataset": Blocks(8)}
        over()
        Trainer(model, arguments, compute_metrics=compute_metrics, callbacks=[Stop()], **data, **thinned).train()
    done(model.gpu, model.samples)


if __name__ == "__main__":
    main()
