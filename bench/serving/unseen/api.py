"""FastAPI as people write it, each CASE with one trouble: python bench/serving/unseen/api.py CASE PORT.

Lines that end in `# the cause of CASE` are what a verdict should name. The truths stand in unseen.py.
"""

import asyncio
import contextlib
import io
import json
import logging
import os
import queue
import random
import sys
import tempfile
import threading
import time
import urllib.request
from concurrent.futures import Future

import numpy as np
import torch
import uvicorn
from fastapi import FastAPI, Request
from fastapi.middleware.gzip import GZipMiddleware
from parts import Launches, Net, Padded, device, infer, lock

CASE, PORT = sys.argv[1], int(sys.argv[2])
net = Net().eval()
one = torch.zeros(1, 3, 8, 8)
todo = queue.Queue()


def collect(most, wait):
    """A batch from the queue: at most `most` requests, and `wait` seconds for all after the first."""
    batch, until = [todo.get()], time.monotonic() + wait
    while len(batch) < most:
        try:
            batch.append(todo.get(timeout=max(0.0, until - time.monotonic())))
        except queue.Empty:
            break
    return batch


def work(model, most, wait):
    """The thread that owns the model."""
    while True:
        batch = collect(most, wait)
        longest = max(len(x) for x, _ in batch)
        ids = torch.zeros(len(batch), longest)
        for row, (x, _) in zip(ids, batch):
            row[: len(x)] = torch.as_tensor(x)
        infer(model, ids)
        for _, answer in batch:
            answer.set_result({"class": 0})


def ask(x):
    answer = Future()
    todo.put((x, answer))
    return asyncio.wrap_future(answer)


def owner(*args):
    threading.Thread(target=work, args=args, daemon=True).start()


@contextlib.asynccontextmanager
async def lifespan(_):
    if CASE == "queue-full":
        owner(Net(0.080, 0.012).eval(), 8, 0.005)
    elif CASE == "queue-one":
        owner(Net(0.030, 0.001).eval(), 1, 0.0)
    elif CASE == "padding":
        owner(Padded().eval(), 16, 0.005)
    elif CASE == "metrics-thread":
        threading.Thread(target=tally, daemon=True).start()
    yield


app = FastAPI(lifespan=lifespan)
if CASE == "gzip":
    app.add_middleware(GZipMiddleware, compresslevel=9)

seen = {}


def tally():
    """A thread that counts what was served, all the time: it holds the interpreter's lock."""
    while True:
        total = 0
        for i in range(200_000):  # the cause of metrics-thread
            total += seen.get(i % 97, 0) * i % 13  # the cause of metrics-thread
        time.sleep(0.001)


if CASE in ("queue-full", "queue-one"):

    @app.post("/predict")
    async def predict(request: Request):
        await request.body()
        return await ask([0.0] * 8)

elif CASE == "padding":
    chance = random.Random(3)

    @app.post("/predict")
    async def predict(request: Request):
        return await ask([1.0] * (1800 if chance.random() < 0.1 else 40))

elif CASE == "small-model":
    net = Launches().eval()

    @app.post("/predict")
    def predict():
        with lock:
            infer(net, one)
        return {"class": 0}

elif CASE == "cold":
    net = None

    def load():
        """A model that is made ready by the first request: 12 s of work, then long passes."""
        until = time.monotonic() + 12
        while time.monotonic() < until:
            torch.nn.init.normal_(torch.empty(500_000))
        return Net(0.150, 0.010).eval()

    @app.post("/predict")
    def predict():
        global net
        with lock:
            net = net or load()
            infer(net, one)
        return {"class": 0}

elif CASE == "log-features":
    log = logging.getLogger("audit")
    log.addHandler(logging.FileHandler(tempfile.mktemp(prefix="audit-")))
    log.setLevel(logging.INFO)
    features = np.random.default_rng(1).random(120_000).tolist()

    @app.post("/predict")
    async def predict(request: Request):
        log.info("asked: %s", json.dumps(features))  # the cause of log-features
        infer(net, one)
        return {"class": 0}

elif CASE == "reload":
    CHECKPOINT = tempfile.mktemp(suffix=".pt")
    torch.save({f"layer{i}": torch.zeros(400_000) for i in range(120)}, CHECKPOINT)

    @app.post("/predict")
    def predict():
        with lock:
            weights = torch.load(CHECKPOINT, weights_only=True)  # the cause of reload
            fresh = Net().eval()
            fresh.weight.data.copy_(weights["layer0"][:8])
            infer(fresh, one)
        return {"class": 0}

elif CASE == "to-device":

    @app.post("/predict")
    def predict():
        with lock:
            device().copy(1_500_000_000)  # the cause of to-device: model.to("cuda") for each request
            infer(net, one)
        return {"class": 0}

elif CASE == "feature-store":

    @app.post("/predict")
    async def predict(request: Request):
        urllib.request.urlopen(f"http://127.0.0.1:{PORT + 1}/features").read()  # the cause of feature-store
        infer(net, one)
        return {"class": 0}

elif CASE == "gzip":
    heat = [round(x, 6) for x in np.random.default_rng(1).random(60_000).tolist()]
    ANSWER = json.dumps(heat)

    @app.post("/predict")
    async def predict(request: Request):
        from fastapi.responses import Response

        infer(net, one)
        return Response(ANSWER, media_type="application/json")

elif CASE == "nms":

    def suppress(boxes, scores):
        """Non-maximum suppression, one box at a time."""
        order, kept = scores.argsort()[::-1], []
        while len(order):
            best, rest = boxes[order[0]], boxes[order[1:]]
            low, high = np.maximum(best[:2], rest[:, :2]), np.minimum(best[2:], rest[:, 2:])  # the cause of nms
            common = np.clip(high - low, 0, None).prod(1)  # the cause of nms
            areas = (best[2:] - best[:2]).prod() + (rest[:, 2:] - rest[:, :2]).prod(1)  # the cause of nms
            kept.append(order[0])
            order = order[1:][common / (areas - common) < 0.5]  # the cause of nms
        return kept

    places = np.random.default_rng(2).random((2500, 2)) * 2000
    boxes = np.hstack([places, places + 20])

    @app.post("/predict")
    def predict():
        with lock:
            infer(net, one)
        return {"boxes": len(suppress(boxes, np.random.random(len(boxes))))}

elif CASE == "decode":
    import cv2

    PICTURE = cv2.imencode(".png", np.random.default_rng(1).integers(0, 255, (1400, 1800, 3), np.uint8))[1]

    @app.post("/predict")
    def predict():
        picture = cv2.imdecode(PICTURE, cv2.IMREAD_COLOR)  # the cause of decode
        picture = cv2.resize(picture, (224, 224), interpolation=cv2.INTER_AREA)
        with lock:
            infer(net, torch.from_numpy(picture)[None])
        return {"class": 0}

elif CASE == "metrics-thread":
    stage = Net(0.002, 0.0).eval()

    @app.post("/predict")
    async def predict(request: Request):
        await request.body()
        for _ in range(12):  # a stage of 2 ms each: behind each one the interpreter's lock is asked for again
            infer(stage, one)
        return {"class": 0}

elif CASE == "thread-lock":
    session = threading.Lock()

    @app.post("/predict")
    def predict():
        with session:  # the cause of thread-lock
            time.sleep(0.070)  # the cause of thread-lock: a session's row is read from a data base
            infer(net, one)
        return {"class": 0}

else:
    sys.exit("unknown case %r" % CASE)


def store():
    """Another service, which answers after 90 ms."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            time.sleep(0.090)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    ThreadingHTTPServer(("127.0.0.1", PORT + 1), Handler).serve_forever()


if __name__ == "__main__":
    if CASE == "feature-store" and os.fork() == 0:
        store()
    uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning")
