"""aiohttp: python bench/serving/unseen/aio.py CASE PORT. See unseen.py."""

import sys

import numpy as np
import torch
from aiohttp import web
from parts import Net, infer

CASE, PORT = sys.argv[1], int(sys.argv[2])
net = Net().eval()


async def predict(request):
    await request.read()
    infer(net, torch.zeros(1, 8))
    return web.json_response({"mask": np.random.random((300, 300)).tolist()})  # the cause of aio-json


if __name__ == "__main__":
    app = web.Application()
    app.router.add_post("/predict", predict)
    web.run_app(app, host="127.0.0.1", port=PORT, print=None)
