"""A track is found by a linear search through all tracks, for each sample (ZFTurbo/Music-Source-Separation-Training#240)."""

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Tracks(Dataset):
    def __init__(self, count=60_000):
        self.metadata = [(f"/data/musdb/track-{n:06d}/mixture.wav", 44_100 * (30 + n % 200)) for n in range(count)]
        self.by_path = dict(self.metadata)
        self.noise = numpy.zeros((2, 2048), numpy.float32)

    def __len__(self):
        return len(self.metadata)

    def length_of(self, wanted):
        if FIX:
            return self.by_path[wanted]
        for path, length in self.metadata:
            if path == wanted:
                return length
        raise KeyError(wanted)

    def __getitem__(self, i):
        stems = [f"/data/musdb/track-{(i * 7919 + n * 104729) % 60_000:06d}/mixture.wav" for n in range(4)]
        offset = min(self.length_of(stem) for stem in stems) // 2
        return torch.from_numpy(self.noise + offset)


def main():
    gpu = Device()
    loader = DataLoader(Tracks(), batch_size=8, shuffle=True, num_workers=1, pin_memory=True)
    samples = 0
    for batch in loader:
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.02, "step")
        samples += len(batch)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
