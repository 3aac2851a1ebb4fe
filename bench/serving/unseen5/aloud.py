"""A text read aloud: a model makes codes of it, and a small decoder sound of the codes. Flask behind waitress."""

import io
import sys
import threading
import wave

import torch
from flask import Flask, Response, request
from parts import Net, infer
from torch import nn
from waitress import serve

torch.set_num_threads(2)
CODES, FRAMES = 32, 160


class Upsample(nn.Module):
    def __init__(self, channels, out, stride):
        super().__init__()
        self.up = nn.ConvTranspose1d(channels, out, 2 * stride, stride, stride // 2)
        self.blocks = nn.ModuleList(nn.Conv1d(out, out, 7, dilation=d, padding=3 * d) for d in (1, 3, 9))

    def forward(self, x):
        x = self.up(torch.sin(x))
        for block in self.blocks:
            x = x + block(torch.sin(x))
        return x


class SoundDecoder(nn.Module):
    """Codes of 20 ms into samples, as SNAC does."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(CODES, 96, 7, padding=3)
        self.layers = nn.Sequential(Upsample(96, 64, 8), Upsample(64, 32, 8), Upsample(32, 16, 4))
        self.last = nn.Conv1d(16, 1, 7, padding=3)

    def forward(self, codes):
        return torch.tanh(self.last(self.layers(self.first(codes))))


language = Net(0.045, 0.001).eval()  # on the device
decoder = SoundDecoder().eval()
speaking = threading.Lock()
app = Flask(__name__)


def sound_of(codes):
    with torch.inference_mode():
        return (decoder(codes)[0, 0] * 32767).to(torch.int16).numpy().tobytes()


def as_wave(samples):
    file = io.BytesIO()
    with wave.open(file, "wb") as w:
        w.setnchannels(1)
        w.setsampwidth(2)
        w.setframerate(16_000)
        w.writeframes(samples)
    return file.getvalue()


@app.post("/speak")
def speak():
    request.get_data()
    with speaking:
        infer(language, torch.zeros(1, 8))
        samples = sound_of(torch.randn(1, CODES, FRAMES))
    return Response(as_wave(samples), mimetype="audio/wav")


if __name__ == "__main__":
    serve(app, host="127.0.0.1", port=int(sys.argv[1]), threads=4)
