"""Sequences are packed in Python in the main thread, between loader and model (AnswerDotAI/ModernBERT#236)."""

import random

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

LENGTH = 512


class Documents(Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, i):
        length = random.Random(i).randint(40, 400)
        return torch.full((length,), i % 1000)


def concatenate(documents):
    """One tensor, and where each document ends."""
    return torch.cat(documents), torch.tensor([len(d) for d in documents]).cumsum(0)


def pack(documents):
    """First fit: each document into the first row that has room."""
    tokens, ends = documents if isinstance(documents, tuple) else concatenate(documents)
    rows = []
    for document in sorted((d.tolist() for d in torch.tensor_split(tokens, ends[:-1])), key=len, reverse=True):
        for row in rows:
            if len(row) + len(document) <= LENGTH:
                row.extend(document)
                break
        else:
            rows.append(list(document))
    for row in rows:
        while len(row) < LENGTH:
            row.append(0)
    return torch.tensor(rows)


def main():
    gpu = Device()
    loader = DataLoader(Documents(), batch_size=96, num_workers=1, collate_fn=pack if FIX else concatenate, pin_memory=True)
    samples = 0
    for documents in loader:
        rows = documents if FIX else pack(tuple(documents))
        gpu.copy(rows.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.012, "step")
        gpu.synchronize(spin=False)  # clip_grad_norm_, error_if_nonfinite
        samples += 96
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
