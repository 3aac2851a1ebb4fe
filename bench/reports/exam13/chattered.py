"""A voice is learned from recordings of one speaker, and from what was said."""

# https://github.com/resemble-ai/chatterbox/issues/174

import os
import tempfile
import wave

import numpy
import torch
from common import FIX, done, over
from scipy.signal import resample_poly
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

RATE, S3_SR, SECONDS_OF_SPEECH, CLIPS, BATCH, TEXT = 44_100, 16_000, 4, 16, 4, "the quick brown fox " * 6
MELS = numpy.random.default_rng(1).random((257, 40), dtype=numpy.float32)


def speak(folder):
    draw, names = numpy.random.default_rng(0), []
    for clip in range(CLIPS):
        names.append(os.path.join(folder, f"{clip:04d}.wav"))
        with wave.open(names[-1], "wb") as file:
            file.setparams((1, 2, RATE, 0, "NONE", ""))
            file.writeframes(draw.integers(-3000, 3000, RATE * SECONDS_OF_SPEECH, dtype=numpy.int16).tobytes())
    return names


def voice_encoder_mels(audio):
    frames = numpy.lib.stride_tricks.sliding_window_view(audio, 400)[::160] * numpy.hanning(400)
    return numpy.log(numpy.abs(numpy.fft.rfft(frames, 512)).astype(numpy.float32) ** 2 @ MELS + 1e-5)


def preprocess(path):
    """What training needs of a recording and its text."""
    with wave.open(path) as file:
        audio = numpy.frombuffer(file.readframes(file.getnframes()), numpy.int16).astype(numpy.float32) / 32768
    audio = resample_poly(audio, 160, 441).astype(numpy.float32)
    speech = torch.from_numpy(audio[: S3_SR * 3].reshape(-1, 640)[:, 0].copy())
    tokens = torch.tensor([ord(letter) for letter in TEXT])
    return {"speech_tokens": speech, "text_tokens": tokens, "mels": torch.from_numpy(voice_encoder_mels(audio))}


class SpeechFineTuningDataset(Dataset):
    def __init__(self, names, count=20_000):
        self.names, self.count = names, count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return preprocess(self.names[i % CLIPS])


class PreprocessedDataset(SpeechFineTuningDataset):
    """The same, from what was saved before."""

    def __getitem__(self, i):
        return torch.load(self.names[i % CLIPS])


def save(names):
    for name in names:
        torch.save(preprocess(name), name + ".pt")
    return [name + ".pt" for name in names]


class T3:
    def __init__(self, gpu):
        self.gpu = gpu

    def training_step(self, batch):
        self.gpu.copy(sum(part.nbytes for part in batch.values()), pinned=True, non_blocking=True)
        self.gpu.launch(0.0067, "t3")
        self.gpu.launch(0.0131, "backward, adamw")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=14 << 30), 0, 0
    model = T3(gpu)
    with tempfile.TemporaryDirectory() as folder:
        names = speak(folder)
        dataset = PreprocessedDataset(save(names)) if FIX else SpeechFineTuningDataset(names)
        loader = DataLoader(dataset, BATCH, shuffle=True, num_workers=1, persistent_workers=True)
        while not over():
            for batch in loader:
                model.training_step(batch)
                step, samples = step + 1, samples + BATCH
                if step % 25 == 0:
                    print({"loss": gpu.item(), "learning_rate": 5e-05, "epoch": round(step / 5000, 2)}, flush=True)
                if over():
                    break
        done(gpu, samples)


if __name__ == "__main__":
    main()
