"""Is a hive well? Beekeepers send what a hive sounds like, now and then. aiohttp."""

import asyncio
import sys

import numpy as np
import torch
from aiohttp import web
from parts import Net, infer

RATE, BANDS = 8_000, 64
torch.set_num_threads(1)
model = Net(0.070, 0.002).eval()
gpu = asyncio.Lock()
hum = np.sin(np.arange(5 * RATE, dtype=np.float32) * 250 / RATE * 2 * np.pi)


def loudness(sound):
    """Of five seconds, in bands."""
    power = np.abs(np.fft.rfft(sound)) ** 2
    return torch.from_numpy(np.add.reduceat(power, np.linspace(0, len(power) - 1, BANDS).astype(int)).astype(np.float32))


async def hive(request):
    asked = await request.json()
    sound = np.asarray(asked.get("sound", hum), np.float32)
    x = await asyncio.to_thread(loudness, sound)
    async with gpu:
        out = await asyncio.to_thread(infer, model, x[None])
    return web.json_response({"swarms": bool(out.mean() < 0)})


if __name__ == "__main__":
    app = web.Application()
    app.add_routes([web.post("/hives", hive)])
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=None, print=None)
