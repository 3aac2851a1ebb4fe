"""Which wine tastes alike? Tornado; the vectors of 20,000 wines are in a file of numpy."""

import asyncio
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from parts import Net, infer
from tornado.web import Application, RequestHandler

WINES, NUMBERS = 20_000, 128
FILE = os.path.join(tempfile.gettempdir(), "unseen7-wines.npz")
torch.set_num_threads(1)
model = Net(0.030, 0.001).eval()
gpu = ThreadPoolExecutor(1)


def make_file(path):
    chance = np.random.default_rng(5)
    vectors = chance.standard_normal((WINES, NUMBERS)).astype(np.float16).astype(np.float32)
    np.savez_compressed(path, vectors=vectors, years=chance.integers(1950, 2026, WINES))


class Alike(RequestHandler):
    def initialize(self, wines):
        self.wines = wines

    async def post(self):
        out = await asyncio.get_running_loop().run_in_executor(gpu, infer, model, torch.ones(1, NUMBERS))
        near = self.wines["vectors"] @ out[0].numpy()
        best = np.argpartition(near, -5)[-5:]
        self.write({"wines": best.tolist(), "years": self.wines["years"][best].tolist()})


async def main():
    make_file(FILE)
    wines = np.load(FILE)
    Application([("/wines", Alike, {"wines": wines})]).listen(int(sys.argv[1]), "127.0.0.1")
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
