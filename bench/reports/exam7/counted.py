"""A language model, pretrained with a loss per token: the trainer must know how many tokens of a batch bear a loss."""

# https://github.com/mosaicml/llm-foundry/pull/1632
# Cause: the tokens that bear a loss are counted in the trainer's loop, between a batch's arrival and its first kernel.
# Fix: count them per row in the collator, hidden in the loader's workers; the trainer adds up a few numbers.
# Line: 78, get_tokens_per_batch in the loop (the work is at 43 to 46).

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

LENGTH, BATCH, MICRO = 2048, 96, 32
IGNORED = -100


class TextDataset(Dataset):
    def __len__(self):
        return 20_000

    def __getitem__(self, i):
        return torch.full((LENGTH,), i % 50_000)


class Collator:
    """Labels are the tokens but for padding and what belongs to another document."""

    def __call__(self, rows):
        ids = torch.stack(rows)
        batch = {"input_ids": ids, "labels": ids.clone(), "attention_mask": torch.ones_like(ids, dtype=torch.bool)}
        batch["labels"][:, ::97] = IGNORED
        if FIX:
            batch["loss_generating_tokens"] = [
                get_tokens_per_batch({key: value[row : row + 1] for key, value in batch.items() if torch.is_tensor(value)})
                for row in range(len(ids))
            ]
        return batch


def get_tokens_per_batch(batch):
    total = 0
    for row in range(len(batch["input_ids"])):
        labels, mask = batch["labels"][row].clone(), batch["attention_mask"][row]
        labels[torch.logical_not(mask)] = IGNORED
        shifted = torch.cat((labels[1:], labels.new_full((1,), IGNORED)))
        total += int(torch.sum(shifted != IGNORED))
    return total


class MPT:
    def __init__(self, gpu, layers=12):
        self.gpu, self.layers = gpu, layers

    def forward_backward(self, ids):
        self.gpu.copy(ids.nbytes * 2, pinned=True, non_blocking=True)
        for layer in range(self.layers):
            self.gpu.launch(0.00012, f"block {layer}")
        self.gpu.launch(0.003, "backward")


def split(batch):
    for at in range(0, BATCH, MICRO):
        yield {key: value[at : at + MICRO] for key, value in batch.items() if torch.is_tensor(value)}


def main():
    torch.set_num_threads(1)
    gpu, samples, batches = Device(spin=False), 0, 0
    model = MPT(gpu)
    loader = DataLoader(
        TextDataset(), BATCH, collate_fn=Collator(), num_workers=1, pin_memory=True, persistent_workers=True, drop_last=True
    )
    while not over():
        for batch in loader:
            if FIX:
                tokens = sum(batch["loss_generating_tokens"])
            else:
                tokens = sum(get_tokens_per_batch(micro) for micro in split(batch))
            for micro in split(batch):
                model.forward_backward(micro["input_ids"])
            gpu.launch(0.0015, "decoupled lionw")
            loss = gpu.item() / tokens
            batches, samples = batches + 1, samples + BATCH
            if batches % 50 == 0:
                print(f"[batch={batches}] loss/train/total: {loss:.4f}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
