"""The trainer pads each batch to the longest text that the model could take (QData/TextAttack#737)."""

import random

import torch
from common import FIX, done, over
from stoker.emulated import Device
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.utils.data import DataLoader, Dataset
from transformers import PreTrainedTokenizerFast

WORDS = [f"word{n}" for n in range(2000)]


def make_tokenizer():
    vocabulary = {"[PAD]": 0, "[UNK]": 1} | {word: n for n, word in enumerate(WORDS, 2)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", model_max_length=512)


class SNLI(Dataset):
    """Pairs of sentences of 10 to 40 words."""

    def __init__(self, count=8000):
        draw = random.Random(0)
        self.texts = [" ".join(draw.choices(WORDS, k=draw.randint(10, 40))) for _ in range(count)]

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, i):
        return self.texts[i], i % 3


class HuggingFaceModelWrapper:
    def __init__(self, gpu):
        self.gpu, self.tokenizer = gpu, make_tokenizer()

    def __call__(self, input_ids, attention_mask, **_):
        self.gpu.copy(input_ids.nbytes + attention_mask.nbytes)
        self.gpu.launch(0.000003 * input_ids.numel(), "forward")
        return torch.zeros(len(input_ids), 3, requires_grad=True)


class Trainer:
    def __init__(self, model_wrapper, dataset):
        self.model, self.dataset, self.samples = model_wrapper, dataset, 0
        self.loss_fct = torch.nn.CrossEntropyLoss()

    def get_train_dataloader(self):
        return DataLoader(self.dataset, batch_size=32, shuffle=True)

    def training_step(self, model, tokenizer, batch):
        input_texts, targets = batch
        inputs = tokenizer(
            list(input_texts), padding=True if FIX else "max_length", return_tensors="pt", truncation=True,
        )
        logits = model(**inputs)
        return self.loss_fct(logits, targets), inputs["input_ids"].numel()

    def train(self):
        gpu = self.model.gpu
        while not over():
            for step, batch in enumerate(self.get_train_dataloader()):
                loss, tokens = self.training_step(self.model, self.model.tokenizer, batch)
                loss.backward()
                gpu.launch(0.000006 * tokens, "backward, step")
                self.samples += len(batch[1])
                if step % 20 == 0:
                    gpu.item()
                if over():
                    return


def main():
    torch.set_num_threads(1)
    trainer = Trainer(HuggingFaceModelWrapper(Device(spin=False)), SNLI())
    trainer.train()
    done(trainer.model.gpu, trainer.samples)


if __name__ == "__main__":
    main()
