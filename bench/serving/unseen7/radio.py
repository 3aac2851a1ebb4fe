"""Reads news aloud on the radio. aiohttp; the pronunciation of words is in memory."""

import asyncio
import gc
import sys

import torch
from aiohttp import web
from parts import Net, infer

SOUNDS = 40
model = Net(0.040, 0.001).eval()
gpu = asyncio.Lock()
pronounced = {f"word {n}": [n % SOUNDS, n // 7 % SOUNDS, n // 49 % SOUNDS] for n in range(200_000)}


def sounds_of(text):
    sounds = [s for n in range(len(text.split())) for s in pronounced[f"word {n}"]]
    return torch.tensor([sounds])


def speak(text):
    wave = infer(model, sounds_of(text))
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    gc.collect()
    return wave.numpy().tobytes()


async def say(request):
    asked = await request.json()
    async with gpu:
        wave = await asyncio.to_thread(speak, asked.get("text", "it rains in the north and the sun shines in the south"))
    return web.Response(body=wave, content_type="audio/wav")


if __name__ == "__main__":
    app = web.Application()
    app.add_routes([web.post("/say", say)])
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=None, print=None)
