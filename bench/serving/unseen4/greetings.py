"""Which language is a greeting of? FastAPI; the model is loaded when somebody asks."""

import functools
import sys
import threading
import time

import torch
import uvicorn
from fastapi import FastAPI
from parts import Net, infer

app = FastAPI()
busy = threading.Lock()


@functools.cache
def model():
    until = time.monotonic() + 9
    weights = []
    while time.monotonic() < until:
        weights.append(torch.nn.init.normal_(torch.empty(400_000)).half().mean())
    return Net(0.024, 0.001).eval()


@app.post("/predict")
def predict():
    with busy:
        infer(model(), torch.zeros(1, 8))
    return {"language": "de"}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
