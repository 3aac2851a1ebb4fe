"""Who is meant by "she": pairs of mentions whose features lie in files that are mapped, not read."""

# https://github.com/huggingface/neuralcoref/issues/234
# Cause: in lazy mode all arrays are numpy.memmap; each of the many small slices of a sample makes a memmap again, so
#        that training is five times as slow, with workers as well.
# Fix: read the arrays into memory (lazy mode off), or prepare the samples once.
# Line: 50 to 59, NCDataset.__getitem__ (slices of self.spans, self.words, self.features).

import os
import tempfile

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

MENTIONS, DISTANCES = 4000, (1, 2, 3, 4, 5, 7, 10, 15, 20, 30)


def write(folder):
    draw = numpy.random.default_rng(1)
    arrays = {
        "spans": draw.random((MENTIONS, 250), dtype=numpy.float32),
        "words": draw.integers(0, 30_000, (MENTIONS, 8)),
        "features": draw.random((MENTIONS, 24), dtype=numpy.float32),
        "locations": numpy.arange(MENTIONS) // 9,
    }
    for name, array in arrays.items():
        numpy.save(os.path.join(folder, f"{name}.npy"), array)


class NCDataset(Dataset):
    """A mention with all that came before it in its document."""

    def __init__(self, folder):
        mode = None if FIX else "r"
        for name in ("spans", "words", "features", "locations"):
            setattr(self, name, numpy.load(os.path.join(folder, f"{name}.npy"), mmap_mode=mode))

    def __len__(self):
        return MENTIONS

    def distance(self, value):
        for place, limit in enumerate(DISTANCES):
            if value <= limit:
                return place
        return len(DISTANCES)

    def __getitem__(self, i):
        first = max(i - 40, i // 500 * 500)
        pairs = numpy.zeros((40, 250 + 8 + 24 + 2), dtype=numpy.float32)
        for row, j in enumerate(range(first, i)):
            pairs[row, :250] = self.spans[j]
            pairs[row, 250:258] = self.words[j]
            pairs[row, 258:282] = self.features[j]
            pairs[row, 282] = self.distance(self.locations[i] - self.locations[j])
            pairs[row, 283] = (self.words[i][:2] == self.words[j][:2]).all()
        return torch.from_numpy(numpy.array(self.spans[i])), torch.from_numpy(pairs)


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        write(folder)
        loader = DataLoader(
            NCDataset(folder), 32, shuffle=True, num_workers=2, pin_memory=True, persistent_workers=True
        )
        while not over():
            for single, pairs in loader:
                gpu.copy(single.nbytes + pairs.nbytes, pinned=True, non_blocking=True)
                gpu.launch(0.0012, "single and pair scores")
                gpu.launch(0.0018, "backward, rmsprop")
                samples, step = samples + len(single), step + 1
                if step % 50 == 0:
                    print(f"step {step}: loss {gpu.item():.4f}", flush=True)
                if over():
                    break
    done(gpu, samples)


if __name__ == "__main__":
    main()
