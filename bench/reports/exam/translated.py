"""A large bucket of sentences is transformed before the first batch can be made of it (OpenNMT/OpenNMT-py#2246)."""

import itertools

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, IterableDataset


def apply_transforms(n):
    """Filter, normalise and split a sentence into pieces."""
    words = [f"{n % 97}wort{k}" for k in range(20 + n % 30)]
    pieces = [piece for word in words for piece in (word[:2], word[2:4], word[4:])]
    return [hash(piece) % 32_000 for piece in pieces]


class DynamicDatasetIter(IterableDataset):
    def __init__(self, bucket_size, bucket_size_init, bucket_size_increment, batch_size):
        self.bucket_size, self.batch_size = bucket_size, batch_size
        self.bucket_size_init, self.bucket_size_increment = bucket_size_init, bucket_size_increment

    def bucketing(self):
        size, bucket = self.bucket_size_init, []
        for n in itertools.count():
            bucket.append(apply_transforms(n))
            if len(bucket) == size:
                yield bucket
                size, bucket = min(size + self.bucket_size_increment, self.bucket_size), []

    def __iter__(self):
        for bucket in self.bucketing():
            bucket.sort(key=len)
            for start in range(0, len(bucket) - self.batch_size + 1, self.batch_size):
                batch = [torch.tensor(pieces) for pieces in bucket[start : start + self.batch_size]]
                yield torch.nn.utils.rnn.pad_sequence(batch, batch_first=True)


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(), 0
    size = 65_536
    data = DynamicDatasetIter(size, 1024 if FIX else size, 1024 if FIX else 0, batch_size=32)
    loader = DataLoader(data, batch_size=None, num_workers=1, prefetch_factor=50, pin_memory=True)
    over()
    for batch in loader:
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.02, "step")
        samples += len(batch)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
