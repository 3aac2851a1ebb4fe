"""Recordings are embedded by a network that was trained before, to see how well it tells sounds apart."""

# https://github.com/embeddings-benchmark/mteb/issues/3546

import numpy
import torch
from common import FIX, done, over
from scipy.signal import resample_poly
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

RATE, TARGET, SECONDS, BATCH = 44_100, 16_000, 3, 8


class Sounds(Dataset):
    def __init__(self, count=20_000):
        draw = numpy.random.default_rng(0)
        self.recordings = [draw.integers(-3000, 3000, RATE * SECONDS, dtype=numpy.int16) for _ in range(8)]
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return {"array": self.recordings[i % 8].astype(numpy.float32) / 32768, "sampling_rate": RATE}


def resample(audio):
    if audio["sampling_rate"] == TARGET:
        return audio["array"]
    return resample_poly(audio["array"], TARGET // 100, audio["sampling_rate"] // 100)


class AudioCollator:
    def __call__(self, inputs):
        if FIX:
            return [{"array": resample(audio).astype(numpy.float32), "sampling_rate": TARGET} for audio in inputs]
        return inputs


class Wav2Vec2AudioWrapper:
    def __init__(self, gpu):
        self.gpu = gpu

    def feature_extractor(self, audios):
        batch = torch.from_numpy(numpy.stack([resample(audio) for audio in audios]).astype(numpy.float32))
        return (batch - batch.mean(1, keepdim=True)) / (batch.std(1, keepdim=True) + 1e-7)

    def get_audio_embeddings(self, loader):
        for audios in loader:
            values = self.feature_extractor(audios)
            self.gpu.copy(values.nbytes)
            self.gpu.launch(0.0061, "convolutions")
            for layer in range(12):
                self.gpu.launch(0.0012, f"layer {layer}")
            self.gpu.launch(0.0004, "mean")
            yield self.gpu.item()


def main():
    torch.set_num_threads(1)
    gpu, samples, batch = Device(spin=False, memory_used=4 << 30), 0, 0
    wrapper = Wav2Vec2AudioWrapper(gpu)
    loader = DataLoader(Sounds(), BATCH, num_workers=2, collate_fn=AudioCollator(), persistent_workers=True)
    while not over():
        for _ in wrapper.get_audio_embeddings(loader):
            batch, samples = batch + 1, samples + BATCH
            if batch % 20 == 0:
                print(f"Encoding: {batch}/2500 batches", flush=True)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
