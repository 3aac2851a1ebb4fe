"""A portrait in the manner of a painter. Flask behind waitress; how long each layer takes is on a dashboard."""

import collections
import statistics
import sys
import threading
import time
from contextlib import contextmanager

import torch
from flask import Flask, jsonify, request
from parts import Net, device
from waitress import serve

LAYERS = 160
torch.set_num_threads(1)
app = Flask(__name__)
painting = threading.Lock()


class Times:
    """The last times of each part."""

    def __init__(self, kept=50):
        self.last = collections.defaultdict(lambda: collections.deque(maxlen=kept))
        self.means = {}

    @contextmanager
    def of(self, name):
        begun = time.perf_counter()
        yield
        device().synchronize(spin=False)
        self.last[name].append(time.perf_counter() - begun)
        self.means[name] = statistics.fmean(self.last[name])


class Painter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(Net(0.00015, 0.0) for _ in range(LAYERS))
        self.times = Times()

    def forward(self, x):
        for n, layer in enumerate(self.layers):
            with self.times.of(f"layer {n}"):
                x = layer(x)
        return x


painter = Painter().eval()


@app.post("/portraits")
def portrait():
    request.get_data()
    with painting, torch.inference_mode():
        painter(torch.zeros(1, 8))
        device().synchronize(spin=False)
    return jsonify({"painter": "Vermeer"})


@app.get("/times")
def times():
    return jsonify(painter.times.means)


if __name__ == "__main__":
    serve(app, host="127.0.0.1", port=int(sys.argv[1]), threads=6)
