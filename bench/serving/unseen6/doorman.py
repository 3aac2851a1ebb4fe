"""Is a message spam? FastAPI; each answer tells the balancer how busy this machine is."""

import asyncio
import sys

import psutil
import torch
import uvicorn
from fastapi import Depends, FastAPI, Response
from parts import Net, infer

WORDS = 64
model = Net(0.020, 0.001).eval()
gpu = asyncio.Lock()
app = FastAPI()


async def tell_load(response: Response):
    """Headers that the balancer reads."""
    response.headers["X-CPU"] = str(psutil.cpu_percent(interval=0.1))
    response.headers["X-Memory"] = str(psutil.virtual_memory().percent)


def encode(message):
    ids = [hash(word) % 30_000 for word in message.split()[:WORDS]]
    return torch.tensor([ids + [0] * (WORDS - len(ids))])


@app.post("/spam", dependencies=[Depends(tell_load)])
async def spam(asked: dict):
    ids = encode(asked.get("message", "you have won a journey to the sea"))
    async with gpu:
        await asyncio.to_thread(infer, model, ids)
    return {"spam": False}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
