"""A tokenizer pads each batch to the most that the model takes (uf-hobi-informatics-lab/ClinicalTransformerNER#37)."""

import random

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

MOST = 512


class Reviews(Dataset):
    def __init__(self, count=3200):
        draw = random.Random(0)
        self.texts = [[draw.randrange(1, 30_000) for _ in range(draw.randrange(10, 60))] for _ in range(count)]

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, i):
        return self.texts[i]


class Tokenizer:
    model_max_length = MOST

    def pad(self, texts, padding):
        longest = self.model_max_length if padding == "max_length" else max(map(len, texts))
        ids = torch.zeros(len(texts), longest, dtype=torch.int64)
        for n, text in enumerate(texts):
            ids[n, : len(text)] = torch.tensor(text)
        return {"input_ids": ids, "attention_mask": (ids > 0).long()}


class Trainer:
    def __init__(self, gpu):
        self.gpu, self.tokenizer = gpu, Tokenizer()

    def training_step(self, texts):
        batch = self.tokenizer.pad(texts, "longest" if FIX else "max_length")
        self.gpu.copy(sum(t.nbytes for t in batch.values()))
        self.gpu.launch(2e-6 * batch["input_ids"].numel(), "bert, backward, adamw")
        return len(texts)


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    trainer, loader = Trainer(gpu), DataLoader(Reviews(), batch_size=32, shuffle=True, collate_fn=list, num_workers=1)
    while not over():
        for step, texts in enumerate(loader):
            samples += trainer.training_step(texts)
            if step % 50 == 0:
                gpu.item()
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
