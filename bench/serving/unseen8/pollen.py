"""How much pollen is in the air? aiohttp; each map is kept, so that it can be looked at again."""

import asyncio
import itertools
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from aiohttp import web
from parts import Net, infer

CELLS = 480
torch.set_num_threads(1)
model = Net(0.038, 0.001).eval()
MAP = np.random.default_rng(5).gamma(2.0, 30.0, (CELLS, CELLS)).astype(np.float32)


class Archive:
    """The last maps, a file each."""

    def __init__(self, kept=8):
        self.folder = Path(tempfile.mkdtemp(prefix="pollen-"))
        self.numbers = itertools.cycle(range(kept))

    def keep(self, asked, grains):
        file = self.folder / f"{next(self.numbers)}.npz"
        np.savez_compressed(file, grains=grains, at=time.time(), place=asked.get("place", "meadow"))
        return file.name


async def pollen(request):
    asked = await request.json()
    out = await asyncio.to_thread(infer, request.app["model"], torch.zeros(1, 8))
    grains = MAP + float(out.mean())
    return web.json_response({"file": request.app["archive"].keep(asked, grains), "mean": float(grains.mean())})


if __name__ == "__main__":
    app = web.Application()
    app["model"], app["archive"] = model, Archive()
    app.add_routes([web.post("/pollen", pollen)])
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=None, print=None)
