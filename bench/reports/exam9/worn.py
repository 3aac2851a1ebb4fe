"""Gaps in days of a watch's measurements are filled by a network; days are rows of a file of compressed chunks."""

# https://github.com/AshleyLab/OpenMHC/issues/16
# Cause: a chunk holds many days, and a shuffled loader asks for single ones: a whole chunk is read and unpacked for each.
# Fix: chunks of one row.
# Line: 20, 50 to 58, 62, 76: _read_chunk, called in DatasetForSAITS.__getitem__.

import json
import struct
import tempfile
import zlib

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

DAYS, STEPS, CHANNELS, BATCH = 640, 288, 19, 16
CHUNK_SIZE = 1 if FIX else 64


def export_splits_to_h5(path):
    """Rows in chunks, each packed by itself; at the end where each chunk is."""
    draw, places = numpy.random.default_rng(0), []
    with open(path, "wb") as file:
        for first in range(0, DAYS, CHUNK_SIZE):
            walk = draw.normal(0, 0.3, (CHUNK_SIZE, STEPS, CHANNELS)).cumsum(1).round(2).astype(numpy.float32)
            walk[draw.random(walk.shape) < 0.3] = numpy.nan
            packed = zlib.compress(walk.tobytes(), 4)
            places.append((file.tell(), len(packed)))
            file.write(packed)
        header = json.dumps({"X": {"shape": [DAYS, STEPS, CHANNELS], "chunks": CHUNK_SIZE, "places": places}}).encode()
        file.write(header + struct.pack("<Q", len(header)))


class ChunkedArray:
    """Reads a row; the last chunk is kept if it fits into the cache of a megabyte."""

    CACHE_BYTES = 1 << 20

    def __init__(self, path):
        self.file = open(path, "rb")
        self.file.seek(-8, 2)
        (length,) = struct.unpack("<Q", self.file.read())
        self.file.seek(-8 - length, 2)
        self.meta = json.loads(self.file.read(length))["X"]
        self.kept = (None, None)

    def _read_chunk(self, number):
        if self.kept[0] == number:
            return self.kept[1]
        place, length = self.meta["places"][number]
        self.file.seek(place)
        chunk = numpy.frombuffer(zlib.decompress(self.file.read(length)), numpy.float32).reshape(-1, STEPS, CHANNELS)
        if chunk.nbytes <= self.CACHE_BYTES:
            self.kept = (number, chunk)
        return chunk

    def __getitem__(self, row):
        number, within = divmod(row, self.meta["chunks"])
        return self._read_chunk(number)[within]


class DatasetForSAITS(Dataset):
    """Hides some of what is known, so that the network can be asked for it."""

    def __init__(self, path):
        self.path, self.file_handle = path, None

    def __len__(self):
        return DAYS

    def __getitem__(self, idx):
        self.file_handle = self.file_handle or ChunkedArray(self.path)
        X_ori = torch.from_numpy(self.file_handle[idx].copy())
        known = ~torch.isnan(X_ori)
        hidden = known & (torch.rand(X_ori.shape) < 0.2)
        return torch.nan_to_num(X_ori), known & ~hidden, hidden


class SAITS:
    def __init__(self, gpu):
        self.gpu = gpu

    def training_step(self, batch):
        self.gpu.copy(sum(part.nbytes for part in batch), pinned=True, non_blocking=True)
        self.gpu.launch(0.013, "two blocks of diagonally masked attention")
        self.gpu.launch(0.025, "reconstruction, imputation, backward, adam")


def main():
    torch.set_num_threads(1)
    gpu, samples, epoch = Device(spin=False), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        export_splits_to_h5(f"{folder}/train.h5")
        model = SAITS(gpu)
        loader = DataLoader(
            DatasetForSAITS(f"{folder}/train.h5"), BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True
        )
        while not over():
            for batch in loader:
                model.training_step(batch)
                samples += len(batch[0])
                if over():
                    break
            epoch += 1
            print(f"Epoch {epoch:03d} - training loss (MAE): {gpu.item():.4f}", flush=True)
        done(gpu, samples)


if __name__ == "__main__":
    main()
