"""How does somebody walk? A telephone sends a second of its sensors, again and again. aiohttp, a websocket."""

import asyncio
import collections
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from aiohttp import WSMsgType, web
from parts import Net, infer

WINDOW, HOP, SECONDS = 400, 80, 8
model = Net(0.035, 0.0).eval()
gpu = ThreadPoolExecutor(1)
taper = np.hanning(WINDOW).astype(np.float32)


class Recording:
    """The last seconds of somebody, and the frames in them."""

    def __init__(self):
        self.seconds = collections.deque(maxlen=SECONDS)

    def add(self, message):
        self.seconds.append(np.frombuffer(message, np.int16).astype(np.float32) / 32768)

    def frames(self):
        walk = np.concatenate(self.seconds)
        return [walk[at : at + WINDOW] * taper for at in range(0, len(walk) - WINDOW, HOP)]


def tensor_of(frames):
    return torch.tensor(frames)


async def walk(request):
    socket = web.WebSocketResponse(max_msg_size=1 << 20)
    await socket.prepare(request)
    recording = Recording()
    async for message in socket:
        if message.type is not WSMsgType.BINARY:
            break
        recording.add(message.data)
        x = tensor_of(recording.frames())
        await asyncio.get_running_loop().run_in_executor(gpu, infer, model, x)
        await socket.send_json({"limps": False, "frames": len(x)})
    return socket


if __name__ == "__main__":
    app = web.Application()
    app.router.add_get("/", walk)
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None)
