"""Search by picture. FastAPI, with a thread that owns the model and takes what has come."""

import asyncio
import queue
import sys
import threading
from concurrent.futures import Future

import cv2
import numpy as np
import torch
import uvicorn
from fastapi import FastAPI
from parts import Net, infer

MAX_BATCH = 16
app = FastAPI()
asked = queue.Queue()
SENT = cv2.imencode(".jpg", np.random.default_rng(2).integers(90, 160, (480, 640, 3), np.uint8))[1]
torch.set_num_threads(1)


def prepare(sent):
    picture = cv2.imdecode(sent, cv2.IMREAD_COLOR)
    x = cv2.resize(picture, (224, 224), interpolation=cv2.INTER_AREA).astype(np.float32) / 255
    return torch.from_numpy((x - 0.45) / 0.225).permute(2, 0, 1)


def work():
    model = Net(0.300, 0.020).eval()
    while True:
        batch = [asked.get()]
        while len(batch) < MAX_BATCH and not asked.empty():
            batch.append(asked.get_nowait())
        infer(model, torch.stack([x for x, _ in batch]))
        for _, answer in batch:
            answer.set_result([1, 2, 3])


@app.post("/predict")
async def predict():
    answer = Future()
    x = await asyncio.to_thread(prepare, SENT)
    asked.put((x, answer))
    return {"found": await asyncio.wrap_future(answer)}


if __name__ == "__main__":
    threading.Thread(target=work, daemon=True).start()
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
