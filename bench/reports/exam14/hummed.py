"""Who speaks when is found in a long recording: each piece of it becomes a vector of its speaker."""

# https://github.com/pyannote/pyannote-audio/pull/1529

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

RATE, PIECE, BATCH, MELS, FRAME, SHIFT = 16_000, 1, 16, 80, 400, 160


class WeSpeakerResNet34:
    def __init__(self, gpu):
        self.gpu, self.bank = gpu, torch.rand(257, MELS)
        self.window = numpy.hamming(FRAME).astype(numpy.float32)

    def fbank(self, waveform):
        """Filter banks of one piece."""
        frames = numpy.lib.stride_tricks.sliding_window_view(waveform, FRAME)[::SHIFT]
        frames = frames - frames.mean(1, keepdims=True)
        frames = (frames - 0.97 * numpy.roll(frames, 1, 1)) * self.window
        power = numpy.abs(numpy.fft.rfft(frames, 512)).astype(numpy.float32) ** 2
        features = torch.log(torch.from_numpy(power) @ self.bank + 1e-6)
        return features - features.mean(0)

    def compute_fbank(self, waveforms):
        return torch.stack([self.fbank(waveform) for waveform in waveforms])

    def compute_fbank_on_device(self, waveforms):
        self.gpu.copy(waveforms.nbytes)
        self.gpu.launch(0.0009, "frames, fft")
        self.gpu.launch(0.0004, "mel, log, mean")

    def __call__(self, waveforms):
        if FIX:
            self.compute_fbank_on_device(waveforms)
        else:
            self.gpu.copy(self.compute_fbank(waveforms).nbytes)
        self.gpu.launch(0.0087, "resnet, pooling")
        self.gpu.item()
        return torch.zeros(len(waveforms), 256)


class SpeakerDiarization:
    def __init__(self, embedding):
        self._embedding = embedding

    def pieces(self, recording):
        """Windows that overlap by half."""
        return numpy.lib.stride_tricks.sliding_window_view(recording, PIECE * RATE)[:: PIECE * RATE // 2]

    def get_embeddings(self, recording):
        pieces = self.pieces(recording)
        for start in range(0, len(pieces) - BATCH + 1, BATCH):
            yield self._embedding(pieces[start : start + BATCH])


def main():
    torch.set_num_threads(1)
    gpu, samples, files = Device(spin=False, memory_used=3 << 30), 0, 0
    pipeline = SpeakerDiarization(WeSpeakerResNet34(gpu))
    recording = numpy.random.default_rng(1).normal(size=260 * RATE).astype(numpy.float32)
    while not over():
        speakers = 0
        for embeddings in pipeline.get_embeddings(recording):
            speakers += len(embeddings)
            samples += len(embeddings)
            if over():
                break
        files += 1
        print(f"file {files}: {speakers} embeddings", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
