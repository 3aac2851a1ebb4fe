#!/usr/bin/env python3
"""What making batches of text costs: a memory map's get_batch, and tokenising in collate_fn.

    python/.venv/bin/python bench/loader/text.py get_batch
    TOKENIZERS_PARALLELISM=false VENV/bin/python bench/loader/text.py tokenise      (VENV has Hugging Face's tokenizers)

Time of one thread's processor and of the clock per batch, medians and what 9 of 10 lie between.
"""

import os
import random
import sys
import tempfile
import time

ROUNDS = 60


def print_cost(what, make):
    """Print what one call of make costs."""
    spent = []
    for _ in range(ROUNDS):
        cpu, clock = time.process_time(), time.perf_counter()
        make()
        spent.append((time.process_time() - cpu, time.perf_counter() - clock))
    for name, of in zip(("CPU", "clock"), zip(*spent)):
        low, middle, high = (1e3 * sorted(of)[int(share * ROUNDS)] for share in (0.05, 0.5, 0.95))
        print(f"{what}: {name} {middle:.2f} ms ({low:.2f}-{high:.2f})")


def get_batch():
    """As nanoGPT's train.py takes batches, of 100 million tokens in the page cache."""
    import numpy as np
    import torch

    torch.set_num_threads(1)
    with tempfile.NamedTemporaryFile() as file:
        np.random.default_rng(0).integers(0, 50304, 100_000_000, dtype=np.uint16).tofile(file.name)
        for batch, block in ((12, 1024), (64, 256), (32, 2048)):

            def make(batch=batch, block=block):
                data = np.memmap(file.name, dtype=np.uint16, mode="r")
                ix = torch.randint(len(data) - block, (batch,))
                for shift in (0, 1):
                    torch.stack([torch.from_numpy(data[i + shift : i + shift + block].astype(np.int64)) for i in ix])

            print_cost(f"get_batch, {batch} x {block} tokens", make)


def tokenise():
    """Batches of 8 texts of 350 words, by a BPE of 8,000 tokens."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    random.seed(0)
    words = ["".join(random.choices("etaoinshrdlucmfwypvbgkqjxz", k=random.randint(2, 9))) for _ in range(5000)]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel()
    texts = (" ".join(random.choices(words, k=100)) for _ in range(300))
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=8000, show_progress=False))
    batches = iter([[" ".join(random.choices(words, k=350)) for _ in range(8)] for _ in range(ROUNDS)])
    parallel = os.environ.get("TOKENIZERS_PARALLELISM", "not set")
    print_cost(f"tokenising 8 texts of some 2,300 characters, TOKENIZERS_PARALLELISM {parallel}", lambda: tokenizer.encode_batch(next(batches)))


if __name__ == "__main__":
    {"get_batch": get_batch, "tokenise": tokenise}[sys.argv[1]]()
