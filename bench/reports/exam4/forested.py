"""Lines of a table are parsed one by one before they become batches (google-research/google-research#243)."""

import os
import random
import tempfile

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, IterableDataset

NUMBERS = [f"Soil{n}" for n in range(40)] + ["Elevation", "Aspect", "Slope", "R", "V", "H", "S9", "S12", "S15", "F", "W1", "W2", "W3", "W4"]


def parse_csv(line):
    """Features and label of a line, by name."""
    values = line.rstrip("\n").split(",")
    features = {name: numpy.float32(value) for name, value in zip(NUMBERS, values, strict=False)}
    return features, int(values[-1])


def parse_lines(lines):
    """The same of many lines at once."""
    table = numpy.fromstring(",".join(line.rstrip("\n") for line in lines), numpy.float32, sep=",")
    table = torch.from_numpy(table.reshape(len(lines), -1))
    return {name: table[:, n] for n, name in enumerate(NUMBERS)}, table[:, -1].long()


def lines_of(path):
    while True:
        with open(path) as file:
            yield from file


class Covertype(IterableDataset):
    """Lines of a file in nearly random order, parsed."""

    def __init__(self, path, batch_size=None, shuffle=5000):
        self.path, self.batch_size, self.shuffle = path, batch_size, shuffle

    def shuffled(self):
        buffer = []
        for line in lines_of(self.path):
            if len(buffer) < self.shuffle:
                buffer.append(line)
                continue
            at = random.randrange(self.shuffle)
            line, buffer[at] = buffer[at], line
            yield line

    def __iter__(self):
        if self.batch_size is None:
            yield from map(parse_csv, self.shuffled())
        batch = []
        for line in self.shuffled():
            batch.append(line)
            if len(batch) == self.batch_size:
                yield parse_lines(batch)
                batch = []


def input_fn(path, batch_size):
    if FIX:
        return DataLoader(Covertype(path, batch_size), batch_size=None, num_workers=1, pin_memory=True)
    return DataLoader(Covertype(path), batch_size=batch_size, num_workers=1, pin_memory=True)


class TabNet:
    """Encoder with steps of attention over features; on the device."""

    def __init__(self):
        self.gpu = Device(spin=False)

    def train_step(self, features, labels):
        self.gpu.copy(sum(column.nbytes for column in features.values()) + labels.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.025, "tabnet, backward, clip, adam")
        return len(labels)


def write_table(path, rows=20_000):
    draw = random.Random(0)
    with open(path, "w") as file:
        for _ in range(rows):
            soils = ",".join("1" if n == 7 else "0" for n in range(40))
            rest = ",".join(str(draw.randrange(10, 4000)) for _ in range(14))
            file.write(f"{soils},{rest},{draw.randrange(7)}\n")


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "train_covertype.csv")
        write_table(path)
        model, samples = TabNet(), 0
        for step, (features, labels) in enumerate(input_fn(path, 1024)):
            samples += model.train_step(features, labels)
            if step % 100 == 0:
                print(f"step {step}: loss {model.gpu.item():.4f}", flush=True)
            if over():
                break
        done(model.gpu, samples)


if __name__ == "__main__":
    main()
