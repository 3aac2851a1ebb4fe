"""Text is tokenised again in each epoch (huggingface/transformers#14428, AnswerDotAI/ModernBERT#236)."""

import random

import torch
from common import FIX, done, over
from stoker.emulated import Device
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch.utils.data import DataLoader, Dataset

WORDS = ["".join(random.Random(n).choices("abcdefghijklmnopqrstuvwxyz", k=3 + n % 9)) for n in range(3000)]


def make_tokenizer():
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(WORDS, trainers.BpeTrainer(vocab_size=2000, special_tokens=["[UNK]"], show_progress=False))
    return tokenizer


class Reviews(Dataset):
    def __init__(self):
        self.tokenizer = make_tokenizer()
        draw = random.Random(1)
        self.texts = [" ".join(draw.choices(WORDS, k=600)) for _ in range(2000)]
        self.tokens = [self.encode(t) for t in self.texts] if FIX else None

    def encode(self, text):
        return torch.tensor(self.tokenizer.encode(text).ids[:512])

    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        return self.tokens[i % 2000] if FIX else self.encode(self.texts[i % 2000])


def main():
    gpu = Device()
    loader = DataLoader(Reviews(), batch_size=32, shuffle=True, num_workers=1, pin_memory=True)
    samples = 0
    for batch in loader:
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.012, "step")
        samples += len(batch)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
