"""Instances are indexed and cut into batches again in each epoch (allenai/allennlp#1128, kohya-ss/sd-scripts#120)."""

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

TEXT = "a corpus of words that is read from the beginning in each epoch".split()


class Instances(Dataset):
    def __init__(self):
        vocabulary = {}
        self.rows = []
        for n in range(120_000):
            self.rows.append([vocabulary.setdefault(word + str(n % 50), len(vocabulary)) for word in TEXT])

    def __len__(self):
        return 1920

    def __getitem__(self, i):
        return torch.tensor(self.rows[i])


def make_loader():
    return DataLoader(Instances(), batch_size=32, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)


def main():
    gpu, samples = Device(), 0
    loader = make_loader()
    while not over():
        if not FIX:
            loader = make_loader()
        for batch in loader:
            gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
            gpu.launch(0.012, "step")
            samples += len(batch)
            if over():
                break
        gpu.synchronize(spin=False)
    done(gpu, samples)


if __name__ == "__main__":
    main()
