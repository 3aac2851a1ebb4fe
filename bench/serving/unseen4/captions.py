"""Captions of sound, a worker for each device. LitServe."""

import fcntl
import os
import sys
import tempfile

import litserve
import torch

from stoker.emulated import Device

SECONDS = 240


def card(folder=tempfile.gettempdir(), port=sys.argv[1] if len(sys.argv) > 1 else "0"):
    """The first device that no other worker has."""
    for index in range(8):
        held = open(os.path.join(folder, f"captions-{port}-{index}"), "w")
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue
        return Device(index), held
    raise RuntimeError("no device is free")


class Encoder(torch.nn.Module):
    def __init__(self, card):
        super().__init__()
        self.card = card

    def forward(self, x):
        self.card.launch(0.030, "encoder")
        return x


class API(litserve.LitAPI):
    def setup(self, device):
        self.card, self.held = card()
        self.model = Encoder(self.card).eval()
        self.window = torch.hann_window(400)
        self.mel = torch.rand(128, 201)
        self.sound = torch.randn(16_000 * SECONDS)

    def decode_request(self, request):
        return request.get("name", "talk.wav")

    def spectrum(self, sound):
        power = torch.stft(sound, 400, 160, window=self.window, return_complex=True).abs() ** 2
        return (self.mel @ power).clamp(min=1e-10).log10()

    def predict(self, name):
        x = self.spectrum(self.sound)
        with torch.inference_mode():
            self.model(x)
            self.card.synchronize(spin=False)
        return x.shape[-1]

    def encode_response(self, frames):
        return {"frames": frames}


if __name__ == "__main__":
    server = litserve.LitServer(API(), accelerator="cpu", workers_per_device=3)
    server.run(port=int(sys.argv[1]), host="127.0.0.1", generate_client_file=False, log_level="warning")
