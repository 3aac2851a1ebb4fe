"""What the country's solar panels will give in the next hours is told from satellite and weather; samples are streamed."""

# https://github.com/openclimatefix/pvnet/pull/436
# Cause: workers are shut down at the end of each loop; at the start of each loop over training and validation data they start
#        again, and each must open the stores of data anew before its first batch.
# Fix: persistent_workers=True.
# Line: 42 to 50, 56 to 57, 65 to 67, 91, 94: the DataLoaders of StreamedDataModule; PVNetUKRegionalDataset.open in each new worker.

import base64
import json
import tempfile
import zlib

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

TIMES, SIDE, CHUNK, BATCH, TRAIN, VALID = 6000, 16, 12, 16, 640, 160


def write_store(path):
    """Metadata of a store with many small chunks, as one file that is read at once."""
    draw = numpy.random.default_rng(0)
    chunks = {}
    for start in range(0, TIMES, CHUNK):
        field = (draw.random((CHUNK, SIDE, SIDE)) * 1023).astype(numpy.int16)
        for row in range(SIDE):
            data = base64.b64encode(zlib.compress(field[:, row].tobytes(), 1)).decode()
            chunks[f"data/{start // CHUNK}.{row}"] = {"shape": [CHUNK, SIDE], "attrs": {"units": "1"}, "inline": data}
    with open(path, "w") as file:
        json.dump({"zarr_consolidated_format": 1, "metadata": chunks}, file)


class PVNetUKRegionalDataset(Dataset):
    def __init__(self, path, count):
        self.path, self.count, self.data = path, count, None

    def open(self):
        """Not before the worker: handles do not survive the way there."""
        with open(self.path) as file:
            metadata = json.load(file)["metadata"]
        data = numpy.empty((TIMES, SIDE, SIDE), numpy.int16)
        for key, chunk in metadata.items():
            start, row = (int(part) for part in key.removeprefix("data/").split("."))
            inline = zlib.decompress(base64.b64decode(chunk["inline"]))
            data[start * CHUNK : (start + 1) * CHUNK, row] = numpy.frombuffer(inline, numpy.int16).reshape(chunk["shape"])
        self.data = data.astype(numpy.float32) / 1023
        self.mean, self.deviation = self.data.mean(0), self.data.std(0)

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if self.data is None:
            self.open()
        start = int(numpy.random.randint(TIMES - 24))
        sample = (self.data[start : start + 24] - self.mean) / self.deviation
        return torch.from_numpy(sample), torch.from_numpy(sample.mean((1, 2)))


class StreamedDataModule:
    def __init__(self, path):
        options = {"num_workers": 1, "pin_memory": True, "persistent_workers": FIX}
        self.train_dataloader = DataLoader(PVNetUKRegionalDataset(path, TRAIN), BATCH, shuffle=True, **options)
        self.val_dataloader = DataLoader(PVNetUKRegionalDataset(path, VALID), BATCH, **options)


class PVNet:
    def __init__(self, gpu):
        self.gpu = gpu

    def training_step(self, sample, target):
        self.gpu.copy(sample.nbytes + target.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.0062, "encoders, fusion")
        self.gpu.launch(0.0128, "quantile loss, backward, adamw")

    def validation_step(self, sample, target):
        self.gpu.copy(sample.nbytes + target.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.0062, "encoders, fusion")


def main():
    torch.set_num_threads(1)
    gpu, samples, epoch = Device(spin=False), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        write_store(f"{folder}/satellite.json")
        data, model = StreamedDataModule(f"{folder}/satellite.json"), PVNet(gpu)
        while not over():
            for batch in data.train_dataloader:
                model.training_step(*batch)
                samples += len(batch[0])
            for batch in data.val_dataloader:
                model.validation_step(*batch)
            epoch += 1
            print(f"Epoch {epoch}: MAE/val={gpu.item():.4f}", flush=True)
        done(gpu, samples)


if __name__ == "__main__":
    main()
