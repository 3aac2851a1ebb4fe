"""Is there a whale? A buoy sends a second of sound, again and again. websockets."""

import asyncio
import logging
import sys

import numpy as np
import torch
import websockets
from parts import Net, infer

logging.basicConfig(level=logging.INFO)
log = logging.getLogger("whales")
torch.set_num_threads(1)
model = Net(0.010, 0.0).eval()
gpu = asyncio.Lock()
BANDS, FRAMES = 30, 33


class Buoy:
    """Levels of a few bands, of the last seconds."""

    def __init__(self):
        self.levels = torch.zeros(8, BANDS, FRAMES)

    def add(self, message):
        sound = torch.from_numpy(np.frombuffer(message, np.int16).astype(np.float32) / 32768)
        second = sound[: BANDS * FRAMES * 16].reshape(BANDS, FRAMES, 16).abs().mean(2)
        self.levels = torch.cat([self.levels[1:], second[None]])
        for age, level in enumerate(self.levels):
            log.debug(f"{age} seconds ago: {level}")
        return self.levels


async def listen(socket):
    buoy = Buoy()
    async for message in socket:
        levels = buoy.add(message)
        async with gpu:
            out = await asyncio.to_thread(infer, model, levels[None])
        await socket.send(f'{{"whale": {"true" if out.mean() > 2 else "false"}}}')


async def main():
    async with websockets.serve(listen, "127.0.0.1", int(sys.argv[1]), max_size=1 << 20):
        await asyncio.Event().wait()


if __name__ == "__main__":
    logging.getLogger("websockets").setLevel(logging.WARNING)
    asyncio.run(main())
