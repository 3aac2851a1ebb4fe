"""Patterns for tiles, drawn in 20 steps. Flask behind waitress; a PNG is made while the device draws the next."""

import io
import sys
import threading

import numpy as np
import torch
from flask import Flask, Response, request
from parts import Net, infer
from PIL import Image
from waitress import serve

torch.set_num_threads(1)
STEPS, SIZE = 20, 256
denoise = Net(0.018, 0.001).eval()
drawing = threading.Lock()
app = Flask(__name__)


def draw(seed):
    """All steps are launched, and the last is waited for."""
    noise = torch.randn(1, 8, generator=torch.Generator().manual_seed(seed))
    with drawing, torch.inference_mode():
        for _ in range(STEPS - 1):
            noise = denoise(noise)
        infer(denoise, noise)
    return np.random.default_rng(seed).integers(0, 255, (SIZE, SIZE, 3), np.uint8)


def png(pixels):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", compress_level=1)
    return file.getvalue()


@app.post("/tiles")
def tile():
    seed = len(request.get_data())
    return Response(png(draw(seed)), mimetype="image/png")


if __name__ == "__main__":
    serve(app, host="127.0.0.1", port=int(sys.argv[1]), threads=6)
