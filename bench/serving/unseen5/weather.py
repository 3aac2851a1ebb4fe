"""Rain in the next hour, from a radar's picture. Tornado."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from parts import Net, infer
from tornado.web import Application, RequestHandler

STEPS = 6
model = Net(0.050, 0.002).eval()
gpu = ThreadPoolExecutor(1)
radar = np.random.default_rng(8).random((256, 256), np.float32)


def next_hour(picture):
    """Six pictures, ten minutes apart."""
    x = torch.from_numpy(picture)[None]
    return infer(model, x.expand(STEPS, -1, -1))


class Rain(RequestHandler):
    async def post(self):
        x = np.log1p(radar) / 3
        pictures = await asyncio.get_running_loop().run_in_executor(gpu, next_hour, x)
        self.write({"rain": [round(float(p.mean()), 3) for p in pictures]})


class Health(RequestHandler):
    def get(self):
        self.write({"status": "ok"})


async def main():
    Application([("/rain", Rain), ("/health", Health)]).listen(int(sys.argv[1]), "127.0.0.1")
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
