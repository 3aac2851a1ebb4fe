"""Is a comment fit to be shown? FastAPI; what was decided is kept by another service."""

import asyncio
import os
import sys

import requests
import torch
import uvicorn
from fastapi import BackgroundTasks, FastAPI
from parts import Net, infer

RECORDS = os.environ["SERVICE_URL"] + "/decisions"
model = Net(0.020, 0.001).eval()
gpu = asyncio.Lock()
app = FastAPI()


async def record(decision):
    requests.post(RECORDS, json=decision, timeout=5)


@app.post("/predict")
async def moderate(tasks: BackgroundTasks):
    async with gpu:
        await asyncio.to_thread(infer, model, torch.zeros(1, 8))
    decision = {"fit": True, "score": 0.93}
    tasks.add_task(record, decision)
    return decision


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
