"""A classifier of complaints to a bank is tuned; checkpoints are kept, for machines are taken away at any time."""

# https://github.com/huggingface/transformers/issues/23419

import os
import tempfile
import threading

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments

PARAMETERS, BATCH, SAVE_STEPS = 20_000_000, 16, 10


class Complaints(Dataset):
    def __init__(self):
        self.ids = torch.arange(256) % 30000

    def __len__(self):
        return 200_000

    def __getitem__(self, i):
        return {"input_ids": self.ids, "labels": i % 2}


class Bert(torch.nn.Module):
    """The device's work is emulated; weights and moments that are saved are real."""

    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.samples, self.scale = gpu, 0, torch.nn.Parameter(torch.ones(8))
        self.state = {name: torch.zeros(PARAMETERS) for name in ("model", "exp_avg", "exp_avg_sq")}

    def forward(self, input_ids, labels=None):
        self.gpu.copy(input_ids.nbytes, pinned=True, non_blocking=True)
        for layer in range(12):
            self.gpu.launch(0.0011, f"layer {layer}")
        self.gpu.launch(0.029, "backward, adamw")
        self.samples += len(input_ids)
        return {"loss": self.scale.square().mean()}


def write(state, path):
    with open(path, "wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())


class BankTrainer(Trainer):
    writer = None

    def _save_checkpoint(self, model, trial):
        folder = os.path.join(self.args.output_dir, f"checkpoint-{self.state.global_step % (3 * SAVE_STEPS)}")
        os.makedirs(folder, exist_ok=True)
        model.gpu.item()
        if not FIX:
            write(model.state, f"{folder}/training_state.pt")
            return
        if self.writer:
            self.writer.join()
        state = {name: tensor.clone() for name, tensor in model.state.items()}
        self.writer = threading.Thread(target=write, args=(state, f"{folder}/training_state.pt"))
        self.writer.start()


class Stop(TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        control.should_training_stop = over()


def main():
    torch.set_num_threads(1)
    model = Bert(Device(spin=False, memory_used=14 << 30))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        arguments = TrainingArguments(
            folder, per_device_train_batch_size=BATCH, num_train_epochs=1, use_cpu=True, report_to=[],
            disable_tqdm=True, optim="sgd",
            save_strategy="steps", save_steps=SAVE_STEPS, logging_steps=100, dataloader_num_workers=1, max_grad_norm=0,
        )  # fmt: skip
        over()
        trainer = BankTrainer(model, arguments, train_dataset=Complaints(), callbacks=[Stop()])
        trainer.train()
        done(model.gpu, model.samples)
        if trainer.writer:
            trainer.writer.join()


if __name__ == "__main__":
    main()
