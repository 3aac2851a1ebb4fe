"""Filter banks of each recording are computed on the host, in collate_fn (wenet-e2e/wenet#152)."""

import math
import random

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class AudioDataset(Dataset):
    """Names and lengths of recordings, sorted into batches of similar length."""

    def __init__(self, count=4000, batch_size=16):
        draw = random.Random(0)
        lengths = sorted(draw.randint(8 * 16000, 14 * 16000) for _ in range(count))
        self.batches = [lengths[n : n + batch_size] for n in range(0, count, batch_size)]

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, i):
        return self.batches[i]


def make_mel_banks(bins=80, window=512):
    places = torch.linspace(0, 1, bins + 2)
    at = torch.linspace(0, 1, window // 2 + 1).unsqueeze(1)
    rise, fall = (at - places[:-2]) / (places[1:-1] - places[:-2]), (places[2:] - at) / (places[2:] - places[1:-1])
    return torch.clamp(torch.minimum(rise, fall), min=0)


MEL_BANKS = make_mel_banks()


def fbank(waveform, dither=0.1, length=400, shift=160):
    frames = waveform.unfold(0, length, shift).clone()
    frames += dither * torch.randn_like(frames)
    frames -= frames.mean(1, keepdim=True)
    frames[:, 1:] -= 0.97 * frames[:, :-1]
    power = torch.fft.rfft(frames * torch.hann_window(length), 512).abs().square()
    return (power @ MEL_BANKS).clamp(min=1e-9).log()


class CollateFunc:
    def __init__(self, from_gpu):
        self.from_gpu = from_gpu

    def load(self, length):
        return torch.sin(torch.arange(length) * (math.pi / 40))

    def __call__(self, batch):
        waveforms = [self.load(length) for length in batch[0]]
        if self.from_gpu:
            return torch.nn.utils.rnn.pad_sequence(waveforms, batch_first=True)
        xs = [fbank(waveform) for waveform in waveforms]
        return torch.nn.utils.rnn.pad_sequence(xs, batch_first=True)


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    loader = DataLoader(AudioDataset(), 1, shuffle=True, num_workers=2, pin_memory=True, collate_fn=CollateFunc(FIX))
    for feats in loader:
        gpu.copy(feats.nbytes, pinned=True, non_blocking=True)
        if FIX:
            gpu.launch(0.004, "fbank")
        gpu.launch(0.025, "step")
        gpu.item()
        samples += len(feats)
        if over():
            break
    done(gpu, samples)


if __name__ == "__main__":
    main()
