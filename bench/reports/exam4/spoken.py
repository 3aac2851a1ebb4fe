"""Cepstral coefficients of each utterance are computed again in each epoch (NVIDIA/OpenSeq2Seq#285)."""

import os
import tempfile

import numpy
import torch
from common import FIX, done, over
from scipy.fft import dct
from scipy.io import wavfile
from stoker.emulated import Device
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

RATE = 16_000


def mel_filters(count=40, size=512):
    edges = 700 * (10 ** (numpy.linspace(0, 2595 * numpy.log10(1 + RATE / 1400), count + 2) / 2595) - 1)
    bins = numpy.floor((size + 1) * edges / RATE).astype(int)
    filters = numpy.zeros((count, size // 2 + 1))
    for m in range(count):
        left, centre, right = bins[m : m + 3]
        filters[m, left:centre] = (numpy.arange(left, centre) - left) / max(1, centre - left)
        filters[m, centre:right] = (right - numpy.arange(centre, right)) / max(1, right - centre)
    return filters


def mfcc(signal, numcep=13, window=0.02, stride=0.01, filters=mel_filters()):
    signal = numpy.append(signal[0], signal[1:] - 0.97 * signal[:-1])
    length, step = int(window * RATE), int(stride * RATE)
    count = 1 + (len(signal) - length) // step
    frames = signal[numpy.arange(length)[None, :] + step * numpy.arange(count)[:, None]] * numpy.hanning(length)
    power = numpy.abs(numpy.fft.rfft(frames, 512)) ** 2 / 512
    energies = numpy.log(numpy.maximum(power @ filters.T, 1e-10))
    return dct(energies, type=2, axis=1, norm="ortho")[:, :numcep]


def get_speech_features_from_file(filename, params):
    """Features of a recording, from beside the recording when they are kept there."""
    kept = os.path.join(params["cache_folder"], os.path.basename(filename) + ".npy")
    if params["cache_features"] and os.path.exists(kept):
        return numpy.load(kept)
    _, signal = wavfile.read(filename)
    signal = signal.astype(numpy.float64)
    signal = signal / numpy.max(numpy.abs(signal)) + 1e-5 * numpy.random.randn(len(signal))
    features = mfcc(signal)
    features = ((features - features.mean(0)) / features.std(0)).astype(numpy.float32)
    if params["cache_features"]:
        numpy.save(kept, features)
    return features


class Speech2TextDataLayer(Dataset):
    def __init__(self, files, params):
        self.files, self.params = files, params

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        features = get_speech_features_from_file(self.files[i], self.params)
        return torch.from_numpy(features), torch.zeros(40, dtype=torch.long)


def pad_batch(batch):
    return pad_sequence([x for x, _ in batch], batch_first=True), torch.stack([y for _, y in batch])


class Rnn:
    """Two layers of 512 units and CTC: quick."""

    def __init__(self):
        self.gpu = Device(spin=False)

    def train_step(self, x, y):
        self.gpu.copy(x.nbytes + y.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.03, "rnn, ctc, backward")
        return len(x)


def record(folder, count=960, voices=64):
    draw, files = numpy.random.default_rng(0), []
    for n in range(count):
        files.append(os.path.join(folder, f"sample-{n:04d}.wav"))
        if n < voices:
            wavfile.write(files[-1], RATE, (3000 * draw.standard_normal(draw.integers(6, 16) * RATE)).astype(numpy.int16))
        else:
            os.link(files[n % voices], files[-1])
    return files


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        params = {"cache_features": FIX, "cache_folder": folder}
        data = Speech2TextDataLayer(record(folder), params)
        settings = {"num_workers": 2, "pin_memory": True, "persistent_workers": True}
        loader, model, samples = DataLoader(data, 32, shuffle=True, collate_fn=pad_batch, **settings), Rnn(), 0
        while not over():
            for step, (x, y) in enumerate(loader):
                samples += model.train_step(x, y)
                if step % 20 == 0:
                    print(f"loss {model.gpu.item():.3f}", flush=True)
                if over():
                    break
        done(model.gpu, samples)


if __name__ == "__main__":
    main()
