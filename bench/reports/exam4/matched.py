"""Windows of cells are scored by a transformer one at a time (weigertlab/trackastra#35)."""

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch import nn

WINDOW, CELLS = 4, 60


class Features:
    """Positions and shapes of the cells of each picture of a film."""

    def __init__(self, frames=400, seed=0):
        draw = numpy.random.default_rng(seed)
        self.coords = [draw.random((CELLS, 3), numpy.float32) for _ in range(frames)]
        self.shapes = [draw.random((CELLS, 7), numpy.float32) for _ in range(frames)]

    def windows(self):
        for start in range(len(self.coords) - WINDOW + 1):
            part = slice(start, start + WINDOW)
            yield {"coords": numpy.concatenate(self.coords[part]), "features": numpy.concatenate(self.shapes[part]), "start": start}


class Attention(nn.Module):
    """Its arithmetic is the device's; a few small tensors stand for the host's part."""

    def __init__(self, gpu):
        super().__init__()
        self.norm, self.qkv, self.proj, self.gpu = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8), gpu

    def forward(self, x, seconds):
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        for name in ("norm", "qkv", "rotary", "softmax(qk)v", "proj", "add"):
            self.gpu.launch(seconds / 10, name)
        return x + self.proj(nn.functional.scaled_dot_product_attention(q, k, v))


class Mlp(nn.Module):
    def __init__(self, gpu):
        super().__init__()
        self.norm, self.fc1, self.fc2, self.gpu = nn.LayerNorm(8), nn.Linear(8, 16), nn.Linear(16, 8), gpu

    def forward(self, x, seconds):
        for name in ("norm", "fc1", "gelu", "fc2"):
            self.gpu.launch(seconds / 10, name)
        return x + self.fc2(nn.functional.gelu(self.fc1(self.norm(x))))


class TrackingTransformer(nn.Module):
    def __init__(self, gpu, layers=10):
        super().__init__()
        self.gpu = gpu
        self.layers = nn.ModuleList(kind(gpu) for _ in range(layers) for kind in (Attention, Mlp))

    def forward(self, batch):
        self.gpu.copy(batch["coords"].nbytes + batch["features"].nbytes)
        x = torch.ones(1, 4, 8)
        for layer in self.layers:
            layer(x, 0.00006 + 0.00003 * len(batch["coords"]))
        self.gpu.launch(0.00005, "association")


def collate(items):
    return {key: torch.from_numpy(numpy.stack([item[key] for item in items])) for key in ("coords", "features")}


def predict_windows(model, features, batch_size):
    """Weights of edges between cells, the mean of all windows that hold them."""
    weights, windows, seen = numpy.zeros((WINDOW * CELLS, WINDOW * CELLS)), 0, []
    for item in features.windows():
        seen.append(item)
        if len(seen) < batch_size:
            continue
        with torch.no_grad():
            model(collate(seen))
        model.gpu.item()  # .cpu()
        for window in seen:
            distance = ((window["coords"][:, None, :2] - window["coords"][None, :, :2]) ** 2).sum(-1)
            weights += distance < 0.01
        windows += len(seen)
        seen = []
        if over():
            break
    return windows


def main():
    torch.set_num_threads(1)
    gpu, windows = Device(spin=False), 0
    model = TrackingTransformer(gpu).eval()
    while not over():
        windows += predict_windows(model, Features(), batch_size=16 if FIX else 1)
    done(gpu, windows)


if __name__ == "__main__":
    main()
