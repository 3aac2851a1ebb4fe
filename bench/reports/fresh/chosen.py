"""Words are drawn with numpy.random.choice, one call for each masked place (CyberZHG/keras-bert#113)."""

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

VOCABULARY = [f"word-{n}" for n in range(75_000)]


class Sentences(Dataset):
    def __init__(self):
        self.index = {word: n for n, word in enumerate(VOCABULARY)}

    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        tokens = [(i * 31 + n * 17) % 75_000 for n in range(64)]
        if FIX:
            for place in numpy.random.randint(0, 64, 3):
                tokens[place] = numpy.random.randint(75_000)
        else:
            for place in range(3):
                tokens[place] = self.index[numpy.random.choice(VOCABULARY)]
        return torch.tensor(tokens)


def main():
    gpu = Device()
    loader = DataLoader(Sentences(), batch_size=4, shuffle=True, num_workers=1, pin_memory=True)
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
