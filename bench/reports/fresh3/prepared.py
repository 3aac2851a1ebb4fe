"""The constructor of the trainer tokenises every row before the first step (unslothai/unsloth#8960)."""

import random
import tempfile

import torch
from common import FIX, done, over
from stoker.emulated import Device
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.utils.data import Dataset
from transformers import PreTrainedTokenizerFast, Trainer, TrainerCallback, TrainingArguments

WORDS = [f"word{n}" for n in range(5000)]


def make_tokenizer():
    vocabulary = {"[PAD]": 0, "[UNK]": 1} | {word: n for n, word in enumerate(WORDS, 2)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]")


def render_conversations(rows=6_000):
    draw = random.Random(0)
    texts = [" ".join(draw.choices(WORDS, k=180)) for _ in range(400)]
    return [texts[n % len(texts)] for n in range(rows)]


class Prepared(Dataset):
    """Rows that are tokenised."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class Online(Dataset):
    """Rows that are tokenised when they are asked for."""

    def __init__(self, texts, tokenize):
        self.texts, self.tokenize = texts, tokenize

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, i):
        return self.tokenize(self.texts[i])


class SFTTrainer(Trainer):
    def __init__(self, model, args, train_dataset, processing_class, dataset_kwargs, **rest):
        if not dataset_kwargs.get("skip_prepare_dataset"):
            train_dataset = self._prepare_dataset(train_dataset, processing_class)
        super().__init__(model, args, train_dataset=train_dataset, data_collator=collate, **rest)

    def _prepare_dataset(self, dataset, processing_class):
        return Prepared([tokenize_fn(text, processing_class) for text in dataset])


def tokenize_fn(text, processing_class):
    return {"input_ids": processing_class(text=text)["input_ids"]}


def collate(rows):
    input_ids = torch.tensor([row["input_ids"] for row in rows])
    return {"input_ids": input_ids, "labels": input_ids}


class Qwen(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lora, self.gpu, self.samples = torch.nn.Linear(8, 8), Device(spin=False), 0

    def forward(self, input_ids, labels):
        self.gpu.copy(input_ids.nbytes)
        self.gpu.launch(0.025, "forward, backward")
        self.samples += len(input_ids)
        return {"loss": self.lora(input_ids[:, :8].float()).mean()}


class Stop(TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        control.should_training_stop = over()


def main():
    torch.set_num_threads(1)
    model, tokenizer, texts = Qwen(), make_tokenizer(), render_conversations()
    over()
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(
            folder, per_device_train_batch_size=4, num_train_epochs=1, use_cpu=True, report_to=[], disable_tqdm=True,
            save_strategy="no", logging_steps=100, remove_unused_columns=False, dataloader_num_workers=1,
        )
        if FIX:
            texts = Online(texts, lambda text: tokenize_fn(text, tokenizer))
        trainer = SFTTrainer(
            model, args, texts, processing_class=tokenizer, dataset_kwargs={"skip_prepare_dataset": FIX},
            callbacks=[Stop()],
        )
        trainer.train()
    done(model.gpu, model.samples)


if __name__ == "__main__":
    main()
