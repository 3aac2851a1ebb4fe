"""What mice do, learned from their poses by a variational autoencoder of recurrent layers."""

# https://github.com/EthoML/VAME/pull/220
# Cause: each batch reads ten values of the device (.item()) and logs them; the device idles until the next batch.
# Fix: add the losses up on the device, read them once an epoch, and log every ten batches.
# Line: 80 and 84, .item() in train, the latter for writer.add_scalar.

import struct
import tempfile
import time
import zlib

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

BATCH, WINDOW, FEATURES = 256, 30, 24
TERMS = ("loss", "mse_loss", "fut_loss", "kl_loss", "kmeans_loss")


class SEQUENCE_DATASET(Dataset):
    """A window of the poses at a random place, normalised."""

    def __init__(self, frames=60_000):
        self.X = numpy.random.default_rng(0).normal(3, 2, (FEATURES, frames))
        self.mean, self.std = self.X.mean(), self.X.std()

    def __len__(self):
        return BATCH * 40

    def __getitem__(self, index):
        start = numpy.random.choice(self.X.shape[1] - WINDOW)
        sequence = (self.X[:, start : start + WINDOW] - self.mean) / self.std
        return torch.from_numpy(sequence.T)


class SummaryWriter:
    """Records with a length and check sums, as TensorBoard reads them."""

    def __init__(self, folder):
        self.file = open(f"{folder}/events.out.tfevents", "wb")

    def add_scalar(self, tag, value, step):
        record = struct.pack("<dq", time.time(), step) + tag.encode() + struct.pack("<f", value)
        length = struct.pack("<Q", len(record))
        self.file.write(length + struct.pack("<I", zlib.crc32(length)) + record + struct.pack("<I", zlib.crc32(record)))
        self.file.flush()

    def close(self):
        self.file.close()


class RNN_VAE:
    def __init__(self, gpu):
        self.gpu = gpu

    def forward(self, data):
        self.gpu.copy(data.nbytes // 2)
        self.gpu.launch(0.0008, "encoder gru")
        self.gpu.launch(0.0002, "latent")
        self.gpu.launch(0.0012, "decoders gru")

    def backward(self):
        self.gpu.launch(0.003, "backward, adam")


def train(model, gpu, loader, writer, counts):
    sums = dict.fromkeys(TERMS, 0.0)
    for data in loader:
        model.forward(data.float())
        for term in TERMS:
            gpu.launch(0.00004, term)
        model.backward()
        if FIX:
            gpu.launch(0.00001, "add losses")
        else:
            for term in TERMS:
                sums[term] += gpu.item()
        counts["step"], counts["samples"] = counts["step"] + 1, counts["samples"] + len(data)
        if not FIX:
            for term in TERMS:
                writer.add_scalar(f"train/{term}", gpu.item(), counts["step"])
        elif counts["step"] % 10 == 0:
            for term in TERMS:
                writer.add_scalar(f"train/{term}", gpu.item(), counts["step"])
        if over():
            break
    return gpu.item() if FIX else sums["loss"] / len(loader)


def main():
    torch.set_num_threads(1)
    gpu, counts, epoch = Device(spin=False), {"step": 0, "samples": 0}, 0
    model, loader = RNN_VAE(gpu), DataLoader(SEQUENCE_DATASET(), BATCH, shuffle=True, drop_last=True)
    with tempfile.TemporaryDirectory() as folder:
        writer = SummaryWriter(folder)
        while not over():
            epoch += 1
            loss = train(model, gpu, loader, writer, counts)
            print(f"Epoch: {epoch}, Train loss: {loss:.3f}", flush=True)
        done(gpu, counts["samples"])
        writer.close()


if __name__ == "__main__":
    main()
