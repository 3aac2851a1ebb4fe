"""Sounds of a second are invented by a generator; the critic's layers shuffle phases, so that it cannot learn them."""

# https://github.com/chrisdonahue/wavegan/issues/81
# Cause: the shuffle of phases is computed on the CPU: activations go there after each of the critic's layers, and back.
# Fix: turn it off (--phaseshuffle 0).
# Line: 40 to 45, 56 to 58: apply_phaseshuffle in WaveGANDiscriminator.__call__.

import tempfile

import numpy
import torch
from common import FIX, done, over
from scipy.io import wavfile
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

BATCH, LENGTH, WIDTH, CRITIC_STEPS = 16, 16_384, 32, 5
PHASESHUFFLE = 0 if FIX else 2


class Recordings(Dataset):
    """A part of a recording, at a random place."""

    def __init__(self, folder, count=6000):
        self.folder, self.count = folder, count
        draw, t = numpy.random.default_rng(0), numpy.arange(7 * 16_000) / 16_000
        for number in range(6):
            drum = numpy.sin(2 * numpy.pi * (60 + 20 * number) * t) * numpy.exp(-(t % 0.5) * 9) + 0.01 * draw.normal(size=len(t))
            wavfile.write(f"{folder}/{number}.wav", 16_000, (20_000 * drum).astype(numpy.int16))

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        sound = wavfile.read(f"{self.folder}/{i % 6}.wav", mmap=True)[1]
        start = numpy.random.randint(len(sound) - LENGTH)
        return torch.from_numpy(sound[start : start + LENGTH].astype(numpy.float32) / 32_768)


def apply_phaseshuffle(x, rad):
    """Each layer's output moves by a few samples, and is mirrored at the ends."""
    phase = int(torch.randint(-rad, rad + 1, (1,)))
    left, right = max(phase, 0), max(-phase, 0)
    padded = torch.nn.functional.pad(x, (left, right), mode="reflect")
    return padded[..., right : right + x.shape[-1]].contiguous()


class WaveGANDiscriminator:
    def __init__(self, gpu):
        self.gpu = gpu
        self.activations = [torch.zeros(BATCH, WIDTH * 2**layer, LENGTH // 4 ** (layer + 1)) for layer in range(4)]

    def __call__(self, kind):
        for layer, x in enumerate(self.activations):
            self.gpu.launch(0.0011, f"conv {layer}, {kind}")
            if PHASESHUFFLE:
                self.gpu.item()
                self.gpu.copy(apply_phaseshuffle(x, PHASESHUFFLE).nbytes)
        self.gpu.launch(0.0006, "logit")


class WaveGAN:
    def __init__(self, gpu):
        self.gpu, self.discriminator = gpu, WaveGANDiscriminator(gpu)

    def train_critic(self, sounds):
        self.gpu.copy(sounds.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.003, "generator")
        for kind in ("real", "fake"):
            self.discriminator(kind)
        self.gpu.launch(0.011, "gradient penalty, backward, adam")

    def train_generator(self):
        self.gpu.launch(0.003, "generator")
        self.discriminator("fake")
        self.gpu.launch(0.009, "backward, adam")


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        gan = WaveGAN(gpu)
        loader = DataLoader(Recordings(folder), BATCH, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
        while not over():
            for sounds in loader:
                gan.train_critic(sounds)
                step, samples = step + 1, samples + len(sounds)
                if step % CRITIC_STEPS == 0:
                    gan.train_generator()
                if step % 50 == 0:
                    print(f"global_step/sec: step = {step}, D_loss = {gpu.item():.4f}", flush=True)
                if over():
                    break
        done(gpu, samples)


if __name__ == "__main__":
    main()
