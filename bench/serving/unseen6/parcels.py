"""Labels of parcels on a belt: one model finds them, another reads them. aiohttp."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

import torch
from aiohttp import web
from parts import Net, infer

torch.set_num_threads(1)
PARCELS, SIZE = 16, 32
gpu = ThreadPoolExecutor(1)
belt = torch.rand(3, 480, 640)


class Belt:
    def __init__(self):
        self.finder, self.reader = Net(0.012, 0.001).eval(), Net(0.016, 0.0004).eval()

    def find(self, picture):
        infer(self.finder, picture[None])
        return [(24 + 36 * n, 40 + 19 * n) for n in range(PARCELS)]

    def crops(self, picture, found):
        return [picture[:, top : top + SIZE, left : left + SIZE] for left, top in found]

    def read(self, crops):
        labels = []
        for crop in crops:
            out = infer(self.reader, crop[None])
            labels.append(f"{out.mean().item():.4f}")
        return labels

    def look(self, picture):
        return self.read(self.crops(picture, self.find(picture)))


async def labels(request):
    await request.read()
    found = await asyncio.get_running_loop().run_in_executor(gpu, request.app[BELT].look, belt)
    return web.json_response({"labels": found})


BELT = web.AppKey("belt", Belt)

if __name__ == "__main__":
    app = web.Application()
    app[BELT] = Belt()
    app.router.add_post("/labels", labels)
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None)
