"""Where is a stamp from? aiohttp; photos that have come while the device was busy go to it together."""

import asyncio
import itertools
import sys

import torch
from aiohttp import web
from parts import Net, infer

MOST = 16
SIZES = [(96 + 8 * n, 160 - 2 * n) for n in range(29)]
torch.set_num_threads(1)
model = Net(0.045, 0.001).eval()
next_size = itertools.cycle(SIZES)


class Batcher:
    def __init__(self):
        self.waiting = []
        self.came = asyncio.Event()

    def take(self):
        """Up to so many photos as one tensor holds."""
        first = self.waiting[0][0].shape
        batch = [job for job in self.waiting if job[0].shape == first][:MOST]
        self.waiting = [job for job in self.waiting if all(job is not b for b in batch)]
        return batch

    async def work(self):
        while True:
            while not self.waiting:
                self.came.clear()
                await self.came.wait()
            batch = self.take()
            out = await asyncio.to_thread(infer, model, torch.stack([photo for photo, _ in batch]))
            for (_, answer), row in zip(batch, out):
                answer.set_result(float(row.mean()))

    async def ask(self, photo):
        answer = asyncio.get_running_loop().create_future()
        self.waiting.append((photo, answer))
        self.came.set()
        return await answer


async def stamp(request):
    asked = await request.json()
    height, width = asked.get("size") or next(next_size)
    await request.app["batcher"].ask(torch.zeros(3, height, width))
    return web.json_response({"country": "Mauritius"})


async def start(app):
    app["batcher"] = Batcher()
    app["work"] = asyncio.create_task(app["batcher"].work())


if __name__ == "__main__":
    app = web.Application()
    app.on_startup.append(start)
    app.add_routes([web.post("/stamps", stamp)])
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=None, print=None)
