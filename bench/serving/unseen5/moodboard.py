"""What do eight photos have in common? aiohttp; the photos are links."""

import asyncio
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import aiohttp
import torch
from aiohttp import web
from parts import Net, infer

PHOTOS = os.environ["SERVICE_URL"] + "/photos/"
NAMES = [f"{n:04}.jpg" for n in range(8)]
gpu = ThreadPoolExecutor(1)
model = Net(0.030, 0.001).eval()
SESSION = web.AppKey("session", aiohttp.ClientSession)


async def download(session, url):
    async with session.get(url) as answer:
        answer.raise_for_status()
        return await answer.read()


async def collect(session, names):
    photos = []
    for name in names:
        photos.append(await download(session, PHOTOS + name))
    return photos


def themes(photos):
    vectors = infer(model, torch.zeros(len(photos), 8))
    return ["sea", "summer"][: len(vectors)]


async def board(request):
    asked = await request.json()
    photos = await collect(request.app[SESSION], asked.get("photos", NAMES))
    found = await asyncio.get_running_loop().run_in_executor(gpu, themes, photos)
    return web.json_response({"themes": found, "bytes": sum(map(len, photos))})


async def session_of(app):
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(20)) as session:
        app[SESSION] = session
        yield


if __name__ == "__main__":
    app = web.Application()
    app.cleanup_ctx.append(session_of)
    app.router.add_post("/board", board)
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None)
