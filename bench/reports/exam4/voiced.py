"""A sampler decodes every recording before the first batch, to sort by length (openspeech-team/openspeech#102)."""

import io
import os
import random
import tempfile
import zlib

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, RandomSampler, Sampler

RATE = 16_000


def write_flac(path, signal):
    """Losslessly compressed, as FLAC is: differences, then entropy coding."""
    with open(path, "wb") as file:
        file.write(zlib.compress(numpy.diff(signal, prepend=0).astype(numpy.int16).tobytes(), 1))


def load_audio(path):
    with io.open(path, "rb") as file:
        signal = numpy.frombuffer(zlib.decompress(file.read()), numpy.int16)
    return numpy.cumsum(signal, dtype=numpy.float32) / 32_768


class SpeechToTextDataset(Dataset):
    def __init__(self, audio_paths):
        self.audio_paths = audio_paths

    def __len__(self):
        return len(self.audio_paths)

    def __getitem__(self, i):
        return torch.from_numpy(load_audio(self.audio_paths[i])), torch.zeros(50, dtype=torch.long)


class SmartBatchingSampler(Sampler):
    """Recordings of like length are next to each other; bins come in random order."""

    def __init__(self, data_source, batch_size):
        self.data_source, self.batch_size = data_source, batch_size
        lengths = [self.audio_length(path) for path in data_source.audio_paths]
        order = sorted(range(len(lengths)), key=lengths.__getitem__)
        self.bins = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]

    def audio_length(self, path):
        return len(load_audio(path))

    def __iter__(self):
        random.shuffle(self.bins)
        for ids in self.bins:
            yield from random.sample(ids, len(ids))

    def __len__(self):
        return len(self.data_source)


def collate(batch):
    signals, targets = zip(*batch, strict=True)
    return pad_sequence(signals, batch_first=True), torch.stack(targets)


class LightningSpeechModule:
    def __init__(self, audio_paths, sampler="smart", batch_size=32):
        self.gpu = Device(spin=False)
        self.data, self.sampler, self.batch_size = SpeechToTextDataset(audio_paths), sampler, batch_size

    def train_dataloader(self):
        sampler = SmartBatchingSampler(self.data, self.batch_size) if self.sampler == "smart" else RandomSampler(self.data)
        settings = {"num_workers": 2, "pin_memory": True, "persistent_workers": True}
        return DataLoader(self.data, self.batch_size, sampler=sampler, collate_fn=collate, **settings)

    def training_step(self, batch):
        signals, _ = batch
        self.gpu.copy(signals.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(1.8e-8 * signals.numel(), "fbank, conformer, ctc, backward")
        return len(signals)


def find_audio(folder, count=4800):
    """Recordings of a corpus: most are about 14 seconds long."""
    draw, paths = numpy.random.default_rng(0), []
    waves = [(2000 * numpy.sin(numpy.arange(16 * RATE) / draw.integers(9, 60)) + draw.normal(0, 300, 16 * RATE)).astype(int) for _ in range(6)]
    for n in range(48):
        path = os.path.join(folder, f"{n}.flac")
        write_flac(path, waves[n % 6][: int(RATE * draw.uniform(12.5, 16))])
    for n in range(count):
        paths.append(os.path.join(folder, f"1272-{n:06d}.flac"))
        os.link(os.path.join(folder, f"{n % 48}.flac"), paths[-1])
    return paths


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        module = LightningSpeechModule(find_audio(folder), sampler="random" if FIX else "smart")
        over()
        loader, samples = module.train_dataloader(), 0
        while not over():
            for batch in loader:
                samples += module.training_step(batch)
                if over():
                    break
            print(f"epoch done, loss {module.gpu.item():.3f}", flush=True)
        done(module.gpu, samples)


if __name__ == "__main__":
    main()
