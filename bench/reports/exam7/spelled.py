"""BERT learns from running text; documents are kept as text and become numbers in the collator."""

# https://github.com/marin-community/marin/pull/900
# Cause: the collator tokenizes the text of each batch while the network waits for it.
# Fix: tokenize the data set beforehand, and let the collator only stack and mask.
# Line: 46, encode_batch in MaskedCollator.

import os

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch.utils.data import DataLoader

LENGTH, MASK = 512, 1


def write_documents(count=1500):
    draw = numpy.random.default_rng(0)
    letters = numpy.array(list("etaoinshrdlucmfwyp"))
    lexicon = ["".join(draw.choice(letters, draw.integers(2, 10))) for _ in range(6000)]
    return [" ".join(lexicon[i] for i in draw.zipf(1.3, 900) % 6000) for _ in range(count)]


def train_tokenizer(documents):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(
        documents[:60], trainers.WordPieceTrainer(vocab_size=1500, special_tokens=["[UNK]", "[MASK]"], show_progress=False)
    )
    tokenizer.enable_truncation(LENGTH)
    tokenizer.enable_padding(length=LENGTH)
    return tokenizer


class MaskedCollator:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def __call__(self, examples):
        if isinstance(examples[0], str):
            examples = [e.ids for e in self.tokenizer.encode_batch(examples)]
        ids = torch.tensor(numpy.array(examples, dtype=numpy.int64))
        chosen = torch.rand(ids.shape) < 0.15
        return ids.masked_fill(chosen, MASK), ids.masked_fill(~chosen, -100)


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    documents = write_documents()
    tokenizer = train_tokenizer(documents)
    if FIX:
        documents = [numpy.array(e.ids, dtype=numpy.uint16) for e in tokenizer.encode_batch(documents)]
    loader = DataLoader(
        documents, 24, shuffle=True, collate_fn=MaskedCollator(tokenizer), num_workers=1, pin_memory=True, persistent_workers=True
    )
    while not over():
        for ids, labels in loader:
            gpu.copy(ids.nbytes + labels.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.007, "encoder")
            gpu.launch(0.014, "backward, adamw")
            step, samples = step + 1, samples + len(ids)
            if step % 25 == 0:
                print(f"step {step}: loss {gpu.item():.3f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
