"""A language model is tuned on chats, which a template and a tokenizer make sequences of."""

# https://github.com/axolotl-ai-cloud/axolotl/pull/2632

import random
import tempfile
import time

import torch
from common import FIX, done, over
from stoker.emulated import Device
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments

VOCABULARY, LENGTH, BATCH, READ = 4000, 1024, 8, 0.004


def build_tokenizer():
    words = {"<unk>": 0, "<pad>": 1, "user": 2, "assistant": 3} | {f"w{i}": i + 4 for i in range(VOCABULARY)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


class ChatTemplateDataset(Dataset):
    """Turns are tokenized one by one, and only what the assistant says is learned."""

    def __init__(self, tokenizer, count=20_000):
        draw = random.Random(0)
        self.tokenizer, self.count = tokenizer, count
        turn = lambda: " ".join(f"w{draw.randrange(VOCABULARY)}" for _ in range(draw.randint(60, 140)))  # noqa: E731
        self.chats = [[turn() for _ in range(8)] for _ in range(60)]

    def __len__(self):
        return self.count

    def read(self, i):
        """A row of a memory-mapped file on the file server of the cluster."""
        time.sleep(READ)
        return self.chats[i % len(self.chats)]

    def __getitem__(self, i):
        ids, labels = [], []
        for number, text in enumerate(self.read(i)):
            role = "assistant" if number % 2 else "user"
            encoded = self.tokenizer.encode(f"{role} {text}").ids
            ids += encoded
            labels += encoded if number % 2 else [-100] * len(encoded)
        ids, labels = ids[:LENGTH], labels[:LENGTH]
        space = LENGTH - len(ids)
        return {"input_ids": ids + [1] * space, "labels": labels + [-100] * space}


class Llama(torch.nn.Module):
    """The device's work is emulated; some weights are real, so that there is something to step."""

    def __init__(self, gpu):
        super().__init__()
        self.gpu, self.samples, self.scale = gpu, 0, torch.nn.Parameter(torch.ones(8))

    def forward(self, input_ids, labels=None):
        self.gpu.copy(input_ids.nbytes + labels.nbytes, pinned=True, non_blocking=True)
        for layer in range(8):
            self.gpu.launch(0.0006, f"layer {layer}")
        self.gpu.launch(0.0132, "loss, backward of lora, adamw")
        self.gpu.item()
        self.samples += len(input_ids)
        return {"loss": (self.scale**2).mean()}


class Stop(TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        control.should_training_stop = over()


def main():
    torch.set_num_threads(1)
    model = Llama(Device(spin=False, memory_used=30 << 30))
    loading = {"dataloader_num_workers": 2, "dataloader_prefetch_factor": 8} if FIX else {}
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder, per_device_train_batch_size=BATCH, num_train_epochs=1, use_cpu=True, report_to=[], disable_tqdm=True,
            save_strategy="no", logging_steps=50, dataloader_pin_memory=True, **loading,
        )  # fmt: skip
        over()
        Trainer(model, arguments, train_dataset=ChatTemplateDataset(build_tokenizer()), callbacks=[Stop()]).train()
    done(model.gpu, model.samples)


if __name__ == "__main__":
    main()
