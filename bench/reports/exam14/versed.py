"""A transformer learns verses, letter by letter; verses of a batch are padded to one length."""

# https://github.com/lucidrains/x-transformers/pull/355

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

DEPTH, BATCH, LENGTH, HEADS = 24, 8, 512, 8


class Verses(Dataset):
    def __init__(self, count=200_000):
        self.letters, self.count = torch.arange(LENGTH) % 60, count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.letters, torch.arange(LENGTH) < 300 + i % 200


class Mask:
    """A mask on the device; its rows are known there."""

    def __init__(self, gpu):
        self.gpu = gpu

    def any(self):
        self.gpu.launch(0.000004, "any")
        return self

    def __bool__(self):
        return bool(self.gpu.item())


class Attend:
    def __init__(self, gpu, layer):
        self.gpu, self.layer = gpu, layer

    def __call__(self, row_is_entirely_masked=None):
        self.gpu.launch(0.00011, f"attention {self.layer}")
        if FIX:
            if row_is_entirely_masked is not None:
                self.gpu.launch(0.000006, "masked_fill")
        elif row_is_entirely_masked.any():
            self.gpu.launch(0.000006, "masked_fill")


class TransformerWrapper:
    """The small tensors stand for what the host does for each layer."""

    def __init__(self, gpu):
        self.gpu, self.hidden = gpu, torch.ones(HEADS, 32)
        self.layers = [Attend(gpu, layer) for layer in range(DEPTH)]

    def train_step(self, letters, mask):
        self.gpu.copy(letters.nbytes + mask.nbytes, pinned=True, non_blocking=True)
        for attend in self.layers:
            for _ in range(6):
                self.hidden = torch.tanh(self.hidden * 0.99 + 0.01)
            attend(Mask(self.gpu))
            self.gpu.launch(0.00012, "feedforward")
        for layer in range(DEPTH):
            self.hidden = self.hidden.clamp(-1, 1)
            self.gpu.launch(0.00024, f"backward {layer}")
        self.gpu.launch(0.0006, "adam")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=8 << 30), 0, 0
    model = TransformerWrapper(gpu)
    loader = DataLoader(Verses(), BATCH, shuffle=True, num_workers=1, persistent_workers=True)
    while not over():
        for letters, mask in loader:
            model.train_step(letters, mask)
            step, samples = step + 1, samples + BATCH
            if step % 100 == 0:
                print(f"training loss: {gpu.item():.4f} at {step}", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
