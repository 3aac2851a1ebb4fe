"""Features of pairs are computed from memory maps for each item (huggingface/neuralcoref#234)."""

import tempfile

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

MENTIONS, PAIRS = 4000, 12


def encode_distance(distance):
    code, bins = numpy.zeros(11, numpy.float32), [0, 1, 2, 3, 4, 5, 8, 16, 32, 64]
    for at, most in enumerate(bins):
        if distance <= most:
            code[at] = 1
            break
    return code


class NCDataset(Dataset):
    """Mentions of a text, and the pairs that each makes with those before it."""

    def __init__(self, folder):
        draw = numpy.random.default_rng(0)
        for name, width in (("words", 8), ("places", 2)):
            numpy.save(f"{folder}/{name}.npy", draw.integers(0, 200, (MENTIONS, width)))
        self.words = numpy.load(f"{folder}/words.npy", mmap_mode="r")
        self.places = numpy.load(f"{folder}/places.npy", mmap_mode="r")
        self.made = {}

    def __len__(self):
        return MENTIONS

    def __getitem__(self, mention):
        if FIX and mention in self.made:
            return self.made[mention]
        pairs = []
        for other in range(mention - PAIRS, mention):
            distance = abs(int(self.places[mention, 0]) - int(self.places[other, 0]))
            apart = abs(int(self.places[mention, 1]) - int(self.places[other, 1]))
            same = float(numpy.array_equal(self.words[mention], self.words[other]))
            pairs.append(numpy.concatenate([encode_distance(distance), encode_distance(apart), [same]]))
        item = torch.from_numpy(numpy.stack(pairs).astype(numpy.float32))
        if FIX:
            self.made[mention] = item
        return item


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    model = torch.nn.Linear(23, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with tempfile.TemporaryDirectory() as folder:
        loader = DataLoader(NCDataset(folder), batch_size=64, shuffle=True, num_workers=1, persistent_workers=True)
        while not over():
            for step, x in enumerate(loader):
                gpu.copy(x.nbytes)
                loss = model(x[:, 0]).square().mean()
                gpu.launch(0.002, "forward")
                optimizer.zero_grad()
                loss.backward()
                gpu.launch(0.006, "backward, step")
                optimizer.step()
                samples += len(x)
                if step % 50 == 0:
                    gpu.item()
                if over():
                    break
        done(gpu, samples)


if __name__ == "__main__":
    main()
