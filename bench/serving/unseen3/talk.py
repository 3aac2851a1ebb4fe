"""Websockets: python bench/serving/unseen3/talk.py CASE PORT. See unseen3.py; clients.py is its load."""

import asyncio
import io
import os
import sys

import numpy as np
import torch
import websockets
from parts import Net, infer
from PIL import Image

CASE, PORT = sys.argv[1], int(sys.argv[2])
FIXED = os.environ.get("BENCH_FIXED") == "1"
net = Net(0.050, 0.0).eval() if CASE == "ws-camera" else Net(0.030, 0.0).eval()
window = np.hanning(400).astype(np.float32)


def features(audio):
    """Log spectra of all frames of 25 ms."""
    frames = np.lib.stride_tricks.sliding_window_view(audio, 400)[::160]
    return np.log1p(np.abs(np.fft.rfft(frames * window)))  # the cause of ws-history


async def listen(socket):
    chunks = []
    async for message in socket:
        chunks.append(np.frombuffer(message, np.int16))
        if FIXED:
            del chunks[:-4]
        audio = np.concatenate(chunks).astype(np.float32) / 32768  # the cause of ws-history: all that was said so far
        seen = features(audio)
        await asyncio.to_thread(infer, net, torch.zeros(1, 8))
        await socket.send(f'{{"frames": {len(seen)}}}')


async def watch(socket):
    async for message in socket:
        picture = Image.open(io.BytesIO(message)).convert("RGB").resize((224, 224))
        await asyncio.to_thread(infer, net, torch.zeros(1, 8))
        await socket.send(f'{{"class": 0, "height": {picture.height}}}')


async def main():
    async with websockets.serve(watch if CASE == "ws-camera" else listen, "127.0.0.1", PORT, max_size=None):
        await asyncio.Future()


asyncio.run(main())
