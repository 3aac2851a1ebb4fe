"""Does a recipe taste? Starlette; cooks send what is in it as YAML or JSON."""

import asyncio
import sys

import torch
import uvicorn
import yaml
from parts import Net, infer
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

INGREDIENTS = 512
model = Net(0.025, 0.001).eval()
gpu = asyncio.Lock()


def read(body):
    asked = yaml.safe_load(body) or {}
    amounts = [float(a) for a in asked.get("x", [])][:INGREDIENTS]
    return torch.tensor(amounts + [0.0] * (INGREDIENTS - len(amounts)))


async def taste(request):
    x = read(await request.body())
    async with gpu:
        out = await asyncio.to_thread(infer, model, x[None])
    return JSONResponse({"tastes": bool(out.mean() > 0)})


app = Starlette(routes=[Route("/recipes", taste, methods=["POST"])])

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
