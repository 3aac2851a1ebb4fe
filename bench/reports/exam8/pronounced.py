"""Text becomes speech: spectrograms of the recordings are made when a batch is put together."""

# https://github.com/mozilla/TTS/issues/214
# Cause: none: "spec. computation is not a bottleneck" - "it does seem that the specs are not the bottleneck". Healthy.
# Fix: nothing to change (--fix makes the spectrograms beforehand, which gains nothing).
# Line: none.

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

RATE, BATCH = 16_000, 16


class AudioProcessor:
    def __init__(self):
        points = torch.linspace(0, 1, 82)[:, None] ** 2 * 512
        bins = torch.arange(513)[None]
        rising = (bins - points[:-2]) / (points[1:-1] - points[:-2] + 1)
        falling = (points[2:] - bins) / (points[2:] - points[1:-1] + 1)
        self.basis, self.window = torch.minimum(rising, falling).clamp(min=0), torch.hann_window(800)

    def spectrogram(self, wav):
        return torch.stft(wav, 1024, 200, 800, self.window, return_complex=True).abs()

    def melspectrogram(self, wav):
        return torch.log(self.basis @ self.spectrogram(wav) + 1e-5)


class TTSDataset(Dataset):
    def __init__(self, ap, count=2000):
        draw = numpy.random.default_rng(0)
        self.ap, self.count = ap, count
        lengths = draw.integers(2 * RATE, 6 * RATE, 24)
        self.wavs = [torch.from_numpy(draw.standard_normal(n).astype(numpy.float32)) for n in lengths]
        self.made = [(ap.melspectrogram(wav), ap.spectrogram(wav)) for wav in self.wavs] if FIX else None

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return i % len(self.wavs), torch.full((60,), i % 70)

    def collate_fn(self, batch):
        numbers, texts = zip(*batch, strict=True)
        pairs = [
            self.made[n] if FIX else (self.ap.melspectrogram(self.wavs[n]), self.ap.spectrogram(self.wavs[n])) for n in numbers
        ]
        mels, linears = zip(*pairs, strict=True)
        pad = torch.nn.utils.rnn.pad_sequence
        return torch.stack(texts), pad([m.T for m in mels], batch_first=True), pad([s.T for s in linears], batch_first=True)


class Tacotron:
    """A step for each few frames of the longest."""

    def __init__(self, gpu):
        self.gpu = gpu

    def step(self, texts, mels, linears):
        for tensor in (texts, mels, linears):
            self.gpu.copy(tensor.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.018, "encoder")
        for _ in range(mels.shape[1] // 5):
            self.gpu.launch(0.0019, "attention, decoder")
        self.gpu.launch(0.031, "cbhg")
        self.gpu.launch(0.22, "backward, adam")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=9 << 30), 0, 0
    dataset = TTSDataset(AudioProcessor())
    loader = DataLoader(
        dataset, BATCH, shuffle=True, num_workers=1, collate_fn=dataset.collate_fn, pin_memory=True, persistent_workers=True
    )
    model = Tacotron(gpu)
    while not over():
        for texts, mels, linears in loader:
            model.step(texts, mels, linears)
            step, samples = step + 1, samples + len(texts)
            if step % 5 == 0:
                print(f" | > Step:{step}  TotalLoss:{gpu.item():.5f}  LR:0.000100", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
