"""An assistant whose customers have limits, which another service knows. FastAPI."""

import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request

import torch
import uvicorn
from fastapi import FastAPI, HTTPException
from parts import Net, infer

LIMITS = os.environ["SERVICE_URL"] + "/limits/"
ATTEMPTS, FIRST_DELAY, LONGEST = 30, 0.08, 0.3
model = Net(0.024, 0.001).eval()
gpu = threading.Lock()
app = FastAPI()


class Busy(Exception):
    pass


def retrying(call):
    """The call again, after longer and longer delays, while the service is busy."""

    def wrapped(*args):
        delay = FIRST_DELAY
        for attempt in range(ATTEMPTS):
            try:
                return call(*args)
            except Busy:
                if attempt == ATTEMPTS - 1:
                    raise
                time.sleep(delay)
                delay = min(2 * delay, LONGEST)

    return wrapped


@retrying
def limits_of(customer):
    try:
        with urllib.request.urlopen(LIMITS + customer, timeout=5) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code in (429, 503):
            raise Busy(customer) from error
        raise


def answer(question, tokens):
    with gpu:
        infer(model, torch.zeros(1, 8))
    return question[:tokens]


@app.post("/v1/ask")
def ask(asked: dict):
    try:
        limits = limits_of(asked.get("customer", "17"))
    except Busy:
        raise HTTPException(503, "limits are not known")
    return {"answer": answer(asked.get("question", "how do I pay"), limits["tokens"])}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
