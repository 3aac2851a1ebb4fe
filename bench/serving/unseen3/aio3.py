"""aiohttp with a batcher of its own: python bench/serving/unseen3/aio3.py CASE PORT. See unseen3.py."""

import asyncio
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import torch
from aiohttp import web
from parts import Net, infer

CASE, PORT = sys.argv[1], int(sys.argv[2])
MOST, LONGEST = 32, 0.005 if os.environ.get("BENCH_FIXED") == "1" else 0.450
net = Net(0.020, 0.002).eval()
pool = ThreadPoolExecutor(1)


async def batcher(app):
    loop = asyncio.get_running_loop()
    while True:
        batch = [await app["queue"].get()]
        until = loop.time() + LONGEST
        while len(batch) < MOST:
            try:
                batch.append(await asyncio.wait_for(app["queue"].get(), until - loop.time()))  # the cause of aio-batcher
            except asyncio.TimeoutError:
                break
        await loop.run_in_executor(pool, infer, net, torch.zeros(len(batch), 8))
        for answer in batch:
            answer.set_result(0)


async def predict(request):
    await request.read()
    answer = asyncio.get_running_loop().create_future()
    await request.app["queue"].put(answer)
    return web.json_response({"class": await answer})


async def start(app):
    app["queue"] = asyncio.Queue()
    app["batcher"] = asyncio.create_task(batcher(app))
    yield
    app["batcher"].cancel()


app = web.Application()
app.cleanup_ctx.append(start)
app.router.add_post("/predict", predict)
web.run_app(app, host="127.0.0.1", port=PORT, print=None)
