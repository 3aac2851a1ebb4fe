"""Pretraining of a language model on documents that are drawn from one long file."""

import time

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

SEQUENCE = 2048


class GPTIndexedDataset:
    """Documents, one after the other, and how long each is."""

    def __init__(self, documents=600_000, seed=0):
        draw = numpy.random.default_rng(seed)
        self.sizes = draw.integers(40, 2400, documents).astype(numpy.int32)
        self.tokens = numpy.zeros(4_000_000, numpy.uint16)

    def get(self, document, begin, end):
        start = (document * 977) % (len(self.tokens) - 2400)
        return self.tokens[start + begin : start + end]


class GPTSampledDataset(Dataset):
    """Sequences of one length, cut from shuffled documents; as many as the run needs."""

    def __init__(self, indexed, num_samples, gpu, seed=1):
        self.indexed, self.num_samples = indexed, num_samples
        per_epoch = int(indexed.sizes.sum())
        epochs = num_samples * SEQUENCE // per_epoch + 1
        if FIX:
            self._sample_on_device(epochs, gpu, seed)
        else:
            self._sample(epochs, seed)

    def _sample(self, epochs, seed):
        random = numpy.random.RandomState(seed)
        documents = len(self.indexed.sizes)
        self.doc_idx = numpy.mgrid[0:epochs, 0:documents][1].reshape(-1).astype(numpy.int32)
        random.shuffle(self.doc_idx)
        self.sample_idx = self._build_sample_idx()
        self.shuffle_idx = numpy.arange(len(self.sample_idx) - 1)
        random.shuffle(self.shuffle_idx)

    def _build_sample_idx(self):
        sizes, order = self.indexed.sizes.tolist(), self.doc_idx.tolist()
        index, place, offset = [(0, 0)], 0, 0
        while len(index) <= self.num_samples:
            left = SEQUENCE
            while left > 0 and place < len(order):
                rest = sizes[order[place]] - offset
                if rest > left:
                    offset += left
                    left = 0
                else:
                    left -= rest
                    place, offset = place + 1, 0
            if left > 0:
                break
            index.append((place, offset))
        return numpy.array(index, numpy.int64)

    def _sample_on_device(self, epochs, gpu, seed):
        generator = torch.Generator().manual_seed(seed)
        documents = len(self.indexed.sizes)
        for _ in range(epochs):
            gpu.launch(0.02, "randperm")
        gpu.item()
        self.doc_idx = torch.randperm(documents, generator=generator).numpy()
        self.ends = self.indexed.sizes[self.doc_idx].cumsum(dtype=numpy.int64)
        self.num_samples = min(self.num_samples, int(self.ends[-1]) // SEQUENCE - 1)

    def __len__(self):
        return self.num_samples if FIX else len(self.shuffle_idx)

    def _start(self, i):
        if FIX:
            place = int(numpy.searchsorted(self.ends, i * SEQUENCE, side="right"))
            return place, i * SEQUENCE - (int(self.ends[place - 1]) if place else 0)
        return map(int, self.sample_idx[self.shuffle_idx[i]])

    def __getitem__(self, i):
        place, offset = self._start(i)
        parts, have = [], 0
        while have < SEQUENCE:
            document = int(self.doc_idx[place])
            end = min(int(self.indexed.sizes[document]), offset + SEQUENCE - have)
            parts.append(self.indexed.get(document, offset, end))
            have += end - offset
            place, offset = place + 1, 0
        return torch.from_numpy(numpy.concatenate(parts).astype(numpy.int64))


def train(gpu, loader):
    step = samples = 0
    for ids in loader:
        gpu.copy(ids.nbytes, pinned=True, non_blocking=True)
        for layer in range(24):
            gpu.launch(0.0008, f"layer {layer}")
        gpu.launch(0.04, "backward")
        gpu.launch(0.002, "adamw")
        step, samples = step + 1, samples + len(ids)
        if step % 25 == 0:
            print(f"step {step}: loss {gpu.item():.4f}", flush=True)
        if over():
            break
    return samples


def main():
    torch.set_num_threads(1)
    gpu, indexed = Device(spin=False), GPTIndexedDataset()
    over()
    began = time.monotonic()
    data = GPTSampledDataset(indexed, 3_500_000, gpu)
    print(f"sampled in {time.monotonic() - began:.1f} s", flush=True)
    loader = DataLoader(data, 8, num_workers=1, pin_memory=True)
    done(gpu, train(gpu, loader))


if __name__ == "__main__":
    main()
