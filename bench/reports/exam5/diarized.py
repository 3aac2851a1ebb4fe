"""Who speaks when: a network slides over the recordings of meetings."""

import os
import tempfile
import zlib

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

RATE = 16_000


def write_mp3(path, minutes, seed):
    """Frames of compressed sound, one after the other; where a frame begins is known when the last one is read."""
    draw = numpy.random.default_rng(seed)
    tone = 3000 * numpy.sin(numpy.arange(60 * RATE) / 9) + draw.normal(0, 60, 60 * RATE)
    packer = zlib.compressobj(1)
    with open(path, "wb") as file:
        for _ in range(minutes):
            file.write(packer.compress(tone.astype(numpy.int16).tobytes()))
        file.write(packer.flush())


def load(path, frame_offset=0, num_frames=-1):
    """Samples of a recording, as a decoder gives them."""
    unpacker, sound, position = zlib.decompressobj(), bytearray(), 0
    with open(path, "rb") as file:
        while data := file.read(1 << 16):
            part = unpacker.decompress(data)
            sound += part[max(0, 2 * frame_offset - position) :]
            position += len(part)
            if 0 <= 2 * num_frames <= len(sound):
                break
    count = len(sound) // 2 if num_frames < 0 else num_frames
    samples = numpy.frombuffer(sound, numpy.int16, count)
    return torch.from_numpy(samples.astype(numpy.float32) / 32_768)[None]


class Audio:
    """Crops of a file that is named by its path, or that is in memory."""

    def crop(self, file, start, duration):
        offset, count = int(start * RATE), int(duration * RATE)
        if "waveform" in file:
            return file["waveform"][:, offset : offset + count]
        return load(file["audio"], offset, count)


class Inference:
    def __init__(self, gpu, duration=5.0, step=2.5, batch_size=32):
        self.gpu, self.audio = gpu, Audio()
        self.duration, self.step, self.batch_size = duration, step, batch_size

    def infer(self, chunks):
        batch = torch.stack(chunks)
        self.gpu.copy(batch.nbytes)
        self.gpu.launch(0.005 * len(chunks), "sincnet, lstm, classifier")
        self.gpu.item()
        return batch.abs().mean((1, 2))

    def slide(self, file):
        starts = numpy.arange(0, file["seconds"] - self.duration, self.step)
        outputs, chunks = [], []
        for start in starts:
            chunks.append(self.audio.crop(file, start, self.duration))
            if len(chunks) == self.batch_size:
                outputs.append(self.infer(chunks))
                chunks = []
                if over():
                    return len(outputs) * self.batch_size
        if chunks:
            outputs.append(self.infer(chunks))
        return len(starts)


class SpeakerDiarization:
    def __init__(self, gpu):
        self.segmentation = Inference(gpu)

    def apply(self, path, minutes):
        file = {"uri": os.path.basename(path), "audio": path, "seconds": 60 * minutes}
        if FIX:
            file["waveform"] = load(path)
        return self.segmentation.slide(file)


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    pipeline = SpeakerDiarization(gpu)
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, f"meeting{n}.mp3") for n in range(3)]
        for seed, path in enumerate(paths):
            write_mp3(path, 8, seed)
        while not over():
            for path in paths:
                samples += pipeline.apply(path, 8)
                print(f"{os.path.basename(path)}: {samples} windows so far", flush=True)
                if over():
                    break
        done(gpu, samples)


if __name__ == "__main__":
    main()
