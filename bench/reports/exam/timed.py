"""The loop synchronizes with the device in each step, only to note how long the step took (pytorch/torchtitan#134)."""

import time

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, IterableDataset


class HuggingFaceDataset(IterableDataset):
    """Text that is tokenised as it comes, in the process that trains."""

    def __init__(self, seq_len=512):
        self.seq_len, self.text = seq_len, "the quick brown fox jumps over the lazy dog " * 60
        self.vocabulary = {text: n for n, text in enumerate(sorted({self.text[i : i + 3] for i in range(len(self.text))}))}

    def encode(self, text):
        return [self.vocabulary.get(text[i : i + 3], 0) for i in range(0, len(text) - 2)]

    def __iter__(self):
        tokens = []
        while True:
            tokens.extend(self.encode(self.text))
            while len(tokens) > self.seq_len:
                yield torch.tensor(tokens[: self.seq_len])
                tokens = tokens[self.seq_len :]


def main():
    torch.set_num_threads(1)
    gpu, samples, losses, times = Device(spin=False, run_ahead=40), 0, [], []
    train_iterator = iter(DataLoader(HuggingFaceDataset(), batch_size=64))
    while not over():
        started = time.monotonic()
        input_ids = next(train_iterator)
        gpu.copy(input_ids.nbytes, pinned=True, non_blocking=True)
        for _ in range(8):
            gpu.launch(0.0015, "layer")
        losses.append(samples)
        if not FIX:
            gpu.synchronize()
            times.append(time.monotonic() - started)
        samples += len(input_ids)
        if len(losses) % 10 == 0:
            gpu.item()
            losses.clear()
    done(gpu, samples)


if __name__ == "__main__":
    main()
