"""When is the tide high? FastAPI, with a batch of what has come; a harbour asks now and then."""

import asyncio
import math
import sys
from contextlib import asynccontextmanager

import torch
import uvicorn
from fastapi import FastAPI
from parts import Net, infer

MOST = 16
model = Net(0.055, 0.002).eval()
waiting: asyncio.Queue = asyncio.Queue()


async def answer_all():
    while True:
        batch = [await waiting.get()]
        while len(batch) < MOST and not waiting.empty():
            batch.append(waiting.get_nowait())
        out = await asyncio.to_thread(infer, model, torch.stack([x for x, _ in batch]))
        for (_, answer), row in zip(batch, out):
            answer.set_result(float(row.mean()))


@asynccontextmanager
async def lifespan(_):
    task = asyncio.create_task(answer_all())
    yield
    task.cancel()


app = FastAPI(lifespan=lifespan)


def waves(latitude, longitude):
    """Moon and sun over two weeks, each hour."""
    return torch.tensor([math.cos(h / 12.42 * math.tau + longitude) + 0.46 * math.cos(h / 12 * math.tau + latitude) for h in range(336)])


@app.post("/tides")
async def tides(asked: dict):
    answer = asyncio.get_running_loop().create_future()
    waiting.put_nowait((waves(asked.get("latitude", 0.9), asked.get("longitude", 0.1)), answer))
    return {"high": await answer}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
