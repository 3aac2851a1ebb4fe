"""A translator's training was cut off in the middle of an epoch; it goes on from the checkpoint."""

# https://github.com/huggingface/transformers/issues/21934

import time

import numpy
import torch
from accelerate import Accelerator, skip_first_batches
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

PAIRS, BATCH, LENGTH, RESUME_STEP, READ = 200_000, 16, 160, 700, 0.0004


class ParallelText(Dataset):
    def __init__(self):
        draw = numpy.random.default_rng(0)
        self.pairs = [
            [draw.integers(4, 32000, int(draw.integers(40, LENGTH))).tolist() for _ in range(2)] for _ in range(256)
        ]

    def __len__(self):
        return PAIRS

    def __getitem__(self, i):
        time.sleep(READ)
        return self.pairs[i % 256]


class DataCollatorForSeq2Seq:
    """Pads, and hides words of the source here and there."""

    def __init__(self):
        self.draw = numpy.random.default_rng(1)

    def pad(self, rows, value):
        longest = max(len(row) for row in rows)
        return torch.tensor([row + [value] * (longest - len(row)) for row in rows])

    def mask(self, row):
        return [3 if self.draw.random() < 0.1 else token for token in row]

    def __call__(self, pairs):
        sources = self.pad([self.mask(source) for source, _ in pairs], 0)
        return {"input_ids": sources, "attention_mask": sources != 0, "labels": self.pad([t for _, t in pairs], -100)}


class Marian:
    def __init__(self, gpu):
        self.gpu = gpu

    def train_step(self, batch):
        self.gpu.copy(sum(part.nbytes for part in batch.values()))
        self.gpu.launch(0.0082, "encoder, decoder")
        self.gpu.launch(0.0149, "backward, adamw")
        return self.gpu.item()


def main():
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    gpu, samples = Device(spin=False, memory_used=12 << 30), 0
    model = Marian(gpu)
    loader = DataLoader(ParallelText(), BATCH, shuffle=True, collate_fn=DataCollatorForSeq2Seq(), num_workers=1)
    loader = accelerator.prepare(loader)
    over()
    accelerator.print(f"  Will skip the first 0 epochs then the first {RESUME_STEP} batches in the first epoch.")
    active = skip_first_batches(loader, RESUME_STEP) if FIX else loader
    for step, batch in enumerate(active, RESUME_STEP if FIX else 0):
        if step < RESUME_STEP:
            continue
        loss = model.train_step(batch)
        samples += len(batch["labels"])
        if step % 50 == 0:
            accelerator.print(f"step {step}/12500 loss {loss:.3f}", flush=True)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
