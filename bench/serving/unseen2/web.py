"""FastAPI as people write it, each CASE with one trouble or none: python bench/serving/unseen2/web.py CASE PORT.

Lines that end in `# the cause of CASE` are what a verdict should name. The truths stand in unseen2.py.
"""

import asyncio
import base64
import contextlib
import gc
import html
import io
import os
import pickle
import queue
import re
import sqlite3
import sys
import tempfile
import threading
import time
from concurrent.futures import Future

import numpy as np
import torch
import uvicorn
from fastapi import FastAPI, Request
from parts import Net, device, infer, lock
from PIL import Image
from pydantic import BaseModel

CASE, PORT = sys.argv[1], int(sys.argv[2])
net = Net().eval()
one = torch.zeros(1, 3, 8, 8)
jobs = queue.Queue()


def batches(most, wait):
    """The thread that owns the model: `most` requests a pass, `wait` seconds for those after the first."""
    model = Net().eval()
    while True:
        taken, until = [jobs.get()], time.monotonic() + wait
        while len(taken) < most and (left := until - time.monotonic()) > 0:
            try:
                taken.append(jobs.get(timeout=left))  # the cause of queue-wait
            except queue.Empty:
                break
        infer(model, torch.zeros(len(taken), 8))
        for done in taken:
            done.set_result(0)


def poll():
    """A worker that checks for a job every 120 ms."""
    model, waiting = Net().eval(), []
    while True:
        while not jobs.empty():
            waiting.append(jobs.get())
        if not waiting:
            time.sleep(0.120)  # the cause of poll
            continue
        infer(model, torch.zeros(len(waiting), 8))
        for done in waiting:
            done.set_result(0)
        waiting.clear()


def watch():
    """Health: counts the objects of the process, over and over."""
    heap = [{"n": i} for i in range(150_000)]
    while True:
        kinds = {}
        for thing in gc.get_objects():  # the cause of health-thread
            kinds[type(thing).__name__] = kinds.get(type(thing).__name__, 0) + 1  # the cause of health-thread
        time.sleep(0.002)
        kinds["kept"] = len(heap)


@contextlib.asynccontextmanager
async def lifespan(_):
    start = {"queue-wait": (batches, 16, 0.250), "bursts-batched": (batches, 8, 0.005), "poll": (poll,), "health-thread": (watch,)}
    if CASE in start:
        threading.Thread(target=start[CASE][0], args=start[CASE][1:], daemon=True).start()
    yield


app = FastAPI(lifespan=lifespan)


def submit():
    done = Future()
    jobs.put(done)
    return asyncio.wrap_future(done)


if CASE in ("queue-wait", "bursts-batched", "poll"):

    @app.post("/predict")
    async def predict(request: Request):
        await request.body()
        return {"class": await submit()}

elif CASE == "pydantic":

    class Query(BaseModel):
        x: list[float]

    @app.post("/predict")
    async def predict(query: Query):
        infer(net, torch.zeros(1, 8))
        return {"class": len(query.x)}

elif CASE == "half-load":
    steady = Net(0.040, 0.002).eval()

    @app.post("/predict")
    def predict():
        with lock:
            infer(steady, one)
        return {"class": 0}

elif CASE == "one-client":
    large = Net(0.240, 0.002).eval()

    @app.post("/predict")
    def predict():
        with lock:
            infer(large, one)
        return {"class": 0}

elif CASE == "pickle":
    rng = np.random.default_rng(1)
    FILE = tempfile.mktemp(suffix=".pkl")
    with open(FILE, "wb") as f:
        pickle.dump({"words": {f"w{i}": i for i in range(150_000)}, "scale": rng.random(1000)}, f)

    @app.post("/predict")
    async def predict(request: Request):
        with open(FILE, "rb") as f:
            vocabulary = pickle.load(f)  # the cause of pickle: the vectorizer is read again for each request
        infer(net, one)
        return {"class": len(vocabulary)}

elif CASE == "bpe":

    class SimpleTokenizer:
        """As CLIP's: words are split by an expression, and their letters merged pair by pair."""

        def __init__(self):
            self.ranks = {(a, b): i for i, (a, b) in enumerate((chr(97 + i % 26), chr(97 + i * 7 % 26)) for i in range(600))}
            self.pattern = re.compile(r"[a-z]+|[^\sa-z]+", re.IGNORECASE)

        def bpe(self, word):
            parts = list(word)
            while len(parts) > 1:
                pairs = list(zip(parts, parts[1:]))  # the cause of bpe
                best = min(pairs, key=lambda p: self.ranks.get(p, 1e9))  # the cause of bpe
                if best not in self.ranks:  # the cause of bpe
                    break
                merged, i = [], 0
                while i < len(parts):  # the cause of bpe
                    if i + 1 < len(parts) and (parts[i], parts[i + 1]) == best:  # the cause of bpe
                        merged.append(parts[i] + parts[i + 1])  # the cause of bpe
                        i += 2  # the cause of bpe
                    else:
                        merged.append(parts[i])  # the cause of bpe
                        i += 1  # the cause of bpe
                parts = merged
            return parts

        def encode(self, text):
            ids = []
            for word in self.pattern.findall(html.unescape(text).lower()):
                ids.extend(len(p) for p in self.bpe(word))  # the cause of bpe
            return ids

    tokenizer = SimpleTokenizer()
    TEXT = "incomprehensibilities notwithstanding the electroencephalographically measured counterrevolutionaries " * 90

    @app.post("/predict")
    async def predict(request: Request):
        ids = tokenizer.encode(TEXT)
        infer(net, torch.zeros(1, min(8, len(ids))))
        return {"class": 0}

elif CASE == "sampling":
    step = Net(0.004, 0.0).eval()
    torch.set_num_threads(1)

    @app.post("/predict")
    async def predict(request: Request):
        tokens = []
        for _ in range(16):
            infer(step, one)
            logits = torch.rand(1, 128_000)
            ranked, order = logits.sort(descending=True)  # the cause of sampling: top-p on the host
            kept = ranked.softmax(-1).cumsum(-1) < 0.9  # the cause of sampling
            tokens.append(int(order[0, torch.multinomial(kept.float(), 1)[0, 0]]))  # the cause of sampling
        return {"tokens": tokens}

elif CASE == "eager-decode":

    class Decoder(Net):
        """32 layers of ten small operations: each takes the device 4 us, and the host three times that."""

        def forward(self, x):
            for _ in range(32):
                for _ in range(10):
                    x = x * 1.0 + 0.0
                    device().launch(4e-6, "elementwise")
            return x

    decoder = Decoder().eval()
    hidden = torch.zeros(1, 64)

    @app.post("/predict")
    async def predict(request: Request):
        for _ in range(12):
            infer(decoder, hidden)
        return {"tokens": 12}

elif CASE == "frames":

    @app.post("/predict")
    async def predict(request: Request):
        device().copy(32 * 3840 * 2160 * 3)  # the cause of frames: 32 frames of video from memory that is not pinned
        infer(net, one)
        return {"class": 0}

elif CASE == "tv-nms":
    from torchvision.ops import nms

    torch.set_num_threads(1)
    corner = torch.rand(2500, 2) * 3000
    boxes, scores = torch.cat([corner, corner + 24], 1), torch.rand(2500)

    @app.post("/predict")
    def predict():
        with lock:
            infer(net, one)
        return {"boxes": len(nms(boxes, scores, 0.5))}  # the cause of tv-nms

elif CASE == "db-locked":
    FILE = tempfile.mktemp(suffix=".db")
    with sqlite3.connect(FILE) as made:
        made.execute("create table asked (t real)")

    def hog():
        """Another program that writes to the data base."""
        other = sqlite3.connect(FILE, isolation_level=None, check_same_thread=False)
        while True:
            other.execute("begin exclusive")
            time.sleep(0.070)
            other.execute("commit")
            time.sleep(0.025)

    if os.fork() == 0:
        hog()
    base = sqlite3.connect(FILE, isolation_level=None, check_same_thread=False, timeout=20)

    @app.post("/predict")
    async def predict(request: Request):
        base.execute("insert into asked values (?)", (time.time(),))  # the cause of db-locked
        infer(net, one)
        return {"class": 0}

elif CASE == "semaphore":
    allowed = asyncio.Semaphore(1)

    @app.post("/predict")
    async def predict(request: Request):
        async with allowed:
            await asyncio.sleep(0.090)  # the cause of semaphore: one request at a time asks another service
            infer(net, one)
        return {"class": 0}

elif CASE == "health-thread":
    stage = Net(0.003, 0.0).eval()

    @app.post("/predict")
    async def predict(request: Request):
        for _ in range(8):
            infer(stage, one)
        return {"class": 0}

elif CASE == "previews":
    noise = Image.effect_noise((280, 280), 90).convert("RGB")
    turn = asyncio.Semaphore(1)

    def diffuse():
        """As a demo on a page: a preview of the picture after each step."""
        previews = []
        for _ in range(10):
            infer(net, one)
            file = io.BytesIO()
            noise.save(file, "PNG")  # the cause of previews
            previews.append(base64.b64encode(file.getvalue()))
        return len(previews)

    @app.post("/predict")
    async def predict(request: Request):
        async with turn:
            return {"steps": await asyncio.to_thread(diffuse)}

elif CASE == "upload":

    @app.post("/predict")
    async def predict(request: Request):
        with open(os.path.join(tempfile.gettempdir(), "upload.bin"), "wb") as f:
            f.write(await request.body())
        infer(net, one)
        await asyncio.to_thread(time.sleep, 0.110)  # the cause of upload: the answer goes to a store before it is given
        return {"class": 0}

else:
    sys.exit("unknown case %r" % CASE)

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning")
