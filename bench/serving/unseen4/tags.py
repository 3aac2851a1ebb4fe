"""Words for a picture. aiohttp."""

import asyncio
import io
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from aiohttp import web
from parts import Net, infer
from PIL import Image

model = Net(0.044, 0.001).eval()
gpu, decoders = ThreadPoolExecutor(1), ThreadPoolExecutor(2)
sent = io.BytesIO()
Image.effect_noise((900, 700), 50).convert("RGB").save(sent, "JPEG", quality=85)
PICTURE = sent.getvalue()


def decode(data):
    picture = Image.open(io.BytesIO(data)).convert("RGB").resize((224, 224))
    return torch.from_numpy(np.asarray(picture).copy()).permute(2, 0, 1)[None]


async def predict(request):
    await request.read()
    loop = asyncio.get_running_loop()
    x = await loop.run_in_executor(decoders, decode, PICTURE)
    await loop.run_in_executor(gpu, infer, model, x)
    return web.json_response({"tags": ["sea", "boat"]})


if __name__ == "__main__":
    app = web.Application()
    app.router.add_post("/predict", predict)
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None)
