"""Recordings are resampled and turned into mel spectrograms for each sample (Rudrabha/Wav2Lip#447)."""

import os
import tempfile

import numpy
import torch
from common import FIX, done, over
from scipy.io import wavfile
from scipy.signal import resample_poly, stft
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

FOLDER = os.path.join(tempfile.gettempdir(), "stoker-reports-speech")
FILTERS = numpy.random.default_rng(0).random((80, 401))


def load_and_compute_mel(path):
    rate, wave = wavfile.read(path)
    wave = resample_poly(wave.astype(numpy.float64), 160, 441)
    _, _, spectrum = stft(wave, 16_000, nperseg=800, noverlap=600)
    return numpy.log(1e-5 + FILTERS @ numpy.abs(spectrum))


def preprocess(count=20):
    os.makedirs(FOLDER, exist_ok=True)
    noise = numpy.random.default_rng(0).integers(-9000, 9000, 44_100 * 2, numpy.int16)
    for n in range(count):
        path = os.path.join(FOLDER, f"{n:02d}.wav")
        if not os.path.exists(path):
            wavfile.write(path, 44_100, noise)
            numpy.save(path.replace("wav", "npy"), load_and_compute_mel(path))


class Faces(Dataset):
    def __len__(self):
        return 20_000

    def __getitem__(self, i):
        path = os.path.join(FOLDER, f"{i % 20:02d}.wav")
        mel = numpy.load(path.replace("wav", "npy")) if FIX else load_and_compute_mel(path)
        return torch.from_numpy(mel[:, :16].astype(numpy.float32))


def main():
    preprocess()
    gpu = Device()
    loader = DataLoader(Faces(), batch_size=2, shuffle=True, num_workers=1, pin_memory=True)
    samples = 0
    for batch in loader:
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.008, "step")
        samples += len(batch)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
