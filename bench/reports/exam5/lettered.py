"""A recurrent network that learns a book letter by letter."""

import os
import struct
import tempfile
import time
import zlib

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

BATCH, LENGTH, LETTERS = 50, 50, 65


def limits():
    """Borders of the buckets, closer to each other near zero."""
    positive, value = [], 1e-12
    while value < 1e20:
        positive.append(value)
        value *= 1.1
    return numpy.array([-v for v in reversed(positive)] + [0] + positive)


class FileWriter:
    """Records with their length and checksum, as event files have them."""

    def __init__(self, folder):
        self.file, self.borders = open(os.path.join(folder, "events.out"), "wb"), limits()

    def write(self, payload):
        header = struct.pack("<Q", len(payload))
        self.file.write(header + struct.pack("<I", zlib.crc32(header)) + payload + struct.pack("<I", zlib.crc32(payload)))

    def scalar(self, tag, value, step):
        self.write(struct.pack("<dqf", time.time(), step, value) + tag.encode())

    def histogram(self, tag, values, step):
        values = values.double().numpy().ravel()
        counts, _ = numpy.histogram(values, self.borders)
        moments = values.min(), values.max(), values.size, values.sum(), (values**2).sum()
        self.write(struct.pack("<dq5d", time.time(), step, *map(float, moments)) + counts.astype(float).tobytes() + tag.encode())


class Batches:
    def __init__(self, count=200):
        text = numpy.random.default_rng(0).integers(0, LETTERS, BATCH * LENGTH * count)
        self.x = torch.from_numpy(text).view(BATCH, -1).split(LENGTH, 1)
        self.pointer = 0

    def next_batch(self):
        self.pointer = (self.pointer + 1) % len(self.x)
        return self.x[self.pointer]


class CharRNN:
    def __init__(self, gpu, layers=2):
        self.gpu, self.layers = gpu, layers
        self.logits, self.losses = torch.randn(BATCH * LENGTH, LETTERS), torch.rand(BATCH * LENGTH)

    def run(self, x):
        self.gpu.copy(x.nbytes)
        for layer in range(self.layers):
            self.gpu.launch(0.0022, f"lstm {layer}")
        self.gpu.launch(0.0006, "logits, loss")
        self.gpu.launch(0.0052, "backward, clip, adam")
        return self.gpu.item()


def summarize(writer, model, loss, step):
    if not FIX:
        writer.histogram("logits", model.logits, step)
        writer.histogram("loss", model.losses, step)
    writer.scalar("train_loss", loss, step)


def train(gpu, folder):
    writer, model, data, step, samples = FileWriter(folder), CharRNN(gpu), Batches(), 0, 0
    while not over():
        x = data.next_batch()
        loss = model.run(x)
        summarize(writer, model, loss, step)
        step, samples = step + 1, samples + BATCH
        if step % 100 == 0:
            print(f"step {step}: train_loss {loss:.3f}", flush=True)
    writer.file.close()
    return samples


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    with tempfile.TemporaryDirectory() as folder:
        done(gpu, train(gpu, folder))


if __name__ == "__main__":
    main()
