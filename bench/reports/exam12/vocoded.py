"""A voice is made from spectrograms by a generator, and a discriminator tells it from recordings."""

# https://github.com/kan-bayashi/ParallelWaveGAN/issues/367

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

HOP, FRAMES, MELS, BATCH = 256, 40, 80, 8


class AudioMelDataset(Dataset):
    def __init__(self, count=12_000):
        draw = numpy.random.default_rng(0)
        self.audios = [draw.normal(size=HOP * (120 + 10 * a)).astype(numpy.float32) for a in range(12)]
        self.mels = [draw.normal(size=(120 + 10 * a, MELS)).astype(numpy.float32) for a in range(12)]
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.audios[i % 12], self.mels[i % 12]


class Collater:
    """Cuts a piece of each utterance."""

    def __call__(self, batch):
        y_batch, c_batch = [], []
        for audio, mel in batch:
            start = numpy.random.randint(0, len(mel) - FRAMES)
            y_batch.append(audio[start * HOP : (start + FRAMES) * HOP])
            c_batch.append(mel[start : start + FRAMES])
        if FIX:
            y_batch, c_batch = numpy.array(y_batch), numpy.array(c_batch)
        y_batch = torch.tensor(y_batch, dtype=torch.float).unsqueeze(1)
        c_batch = torch.tensor(c_batch, dtype=torch.float).transpose(2, 1)
        return c_batch, y_batch


class Trainer:
    def __init__(self, gpu):
        self.gpu = gpu

    def train_step(self, c, y):
        self.gpu.copy(c.nbytes + y.nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.0031, "generator")
        self.gpu.launch(0.0026, "stft losses")
        self.gpu.launch(0.0067, "backward, radam")
        self.gpu.launch(0.0044, "discriminator, backward, radam")


def main():
    torch.set_num_threads(1)
    gpu, samples, steps = Device(spin=False, memory_used=6 << 30), 0, 0
    trainer = Trainer(gpu)
    options = {"num_workers": 1, "pin_memory": True, "persistent_workers": True, "collate_fn": Collater()}
    loader = DataLoader(AudioMelDataset(), BATCH, shuffle=True, **options)
    while not over():
        for c, y in loader:
            trainer.train_step(c, y)
            steps, samples = steps + 1, samples + len(y)
            if steps % 50 == 0:
                print(f"(Steps: {steps}) train/generator_loss = {gpu.item():.4f}.", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
