"""FastAPI, each CASE with one trouble: python bench/serving/unseen3/fast.py CASE PORT. See unseen3.py."""

import asyncio
import contextlib
import functools
import http.server
import logging
import logging.handlers
import multiprocessing
import os
import random
import socketserver
import sys
import threading
import time

CASE, PORT = sys.argv[1], int(sys.argv[2])
FIXED = os.environ.get("BENCH_FIXED") == "1"


class Far(http.server.BaseHTTPRequestHandler):
    """A service in another place: each answer takes a while."""

    protocol_version = "HTTP/1.1"
    takes = {"token-log": 0.012, "async-lock": 0.110}.get(CASE, 0)

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        time.sleep(self.takes)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_PUT = do_POST

    def log_message(self, *_):
        pass


def far(port):
    socketserver.ThreadingTCPServer.allow_reuse_address = True
    server = socketserver.ThreadingTCPServer(("127.0.0.1", port), Far)
    server.daemon_threads = True
    server.serve_forever()


if __name__ == "__main__" and Far.takes and os.fork() == 0:
    parent = os.getppid()
    threading.Thread(target=far, args=(PORT + 1,), daemon=True).start()
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(0)

import numpy as np
import torch
import uvicorn
from fastapi import FastAPI
from parts import Net, device, infer, lock

NOTHING = torch.zeros(1, 8)
net = Net(0.020, 0.002).eval()


def clips(todo, done, shared):
    """The process that owns the model."""
    model = Net(0.030, 0.002).eval()
    while True:
        name, clip = todo.get()  # the cause of mp-pickle
        clip = shared[clip] if isinstance(clip, int) else clip
        infer(model, torch.zeros(1, 8))
        done.put((name, float(clip[0, 0, 0, 0])))


@contextlib.asynccontextmanager
async def lifespan(app):
    if CASE == "mp-pickle":
        context = multiprocessing.get_context("fork")
        app.todo, app.done, app.waiting = context.Queue(), context.Queue(), {}
        app.shared = np.frombuffer(context.RawArray("f", 4 * 24 * 3 * 336 * 336), np.float32).reshape(4, 24, 3, 336, 336)
        context.Process(target=clips, args=(app.todo, app.done, app.shared), daemon=True).start()

        def answers():
            while True:
                name, value = app.done.get()
                app.waiting.pop(name).set_result(value)

        threading.Thread(target=answers, daemon=True).start()
    yield


app = FastAPI(lifespan=lifespan)

if CASE == "deepcopy":
    import copy

    session = {"history": [{"role": "user", "words": [f"w{i % 97}" for i in range(60)], "meta": {"n": n, "tags": ["a", "b"]}} for n in range(900)]}

    @app.post("/predict")
    async def predict():
        state = dict(session) if FIXED else copy.deepcopy(session)  # the cause of deepcopy
        state["history"] = [*state["history"], {"role": "assistant"}]
        await asyncio.to_thread(infer, net, NOTHING)
        return {"turns": len(state["history"])}

elif CASE == "token-log":
    audit = logging.getLogger("audit")
    audit.setLevel(logging.INFO)
    audit.propagate = False
    if not FIXED:
        audit.addHandler(logging.handlers.HTTPHandler(f"127.0.0.1:{PORT + 1}", "/log", method="POST"))
    token = Net(0.006, 0.0).eval()

    @app.post("/predict")
    def predict():
        ids = []
        with lock:
            for n in range(24):
                infer(token, NOTHING)
                ids.append(n)
                audit.info("token %d of %d", ids[-1], n)  # the cause of token-log
        return {"tokens": ids}

elif CASE == "async-lock":
    import aiohttp

    gpu = asyncio.Lock()
    paint = Net(0.040, 0.0).eval()

    async def upload(picture):
        async with aiohttp.ClientSession() as session:
            async with session.put(f"http://127.0.0.1:{PORT + 1}/bucket", data=picture) as answer:
                await answer.read()  # the cause of async-lock

    @app.post("/predict")
    async def predict():
        async with gpu:  # the cause of async-lock
            await asyncio.to_thread(infer, paint, NOTHING)
            if not FIXED:
                await upload(b"0" * 200_000)  # the cause of async-lock
        if FIXED:
            await upload(b"0" * 200_000)
        return {"url": "picture.png"}

elif CASE == "grammar":
    chance = random.Random(3)
    LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789{}[]":,. -'
    VOCABULARY = ["".join(chance.choice(LETTERS) for _ in range(chance.randint(1, 7))) for _ in range(24_000)]
    STATES = {"key": set('abcdefghijklmnopqrstuvwxyz"'), "number": set("0123456789.-,"), "next": set(':{}[],"')}
    token = Net(0.005, 0.0).eval()

    def allowed(state):
        letters, mask = STATES[state], []
        for piece in VOCABULARY:  # the cause of grammar
            mask.append(all(c in letters for c in piece))  # the cause of grammar
        return torch.tensor(mask)  # the cause of grammar

    if FIXED:
        allowed = functools.cache(allowed)
    logits = torch.rand(len(VOCABULARY))

    @app.post("/predict")
    def predict():
        text = []
        with lock:
            for n in range(12):
                infer(token, NOTHING)
                mask = allowed(("key", "next", "number")[n % 3])
                text.append(VOCABULARY[int(logits.masked_fill(~mask, float("-inf")).argmax())])
        return {"text": "".join(text)}

elif CASE == "mp-pickle":
    clip = np.random.default_rng(1).random((24, 3, 336, 336), np.float32)  # 32 MB: frames, as the decoder gives them
    numbers = iter(range(10**9))

    @app.post("/predict")
    async def predict():
        name, answer = next(numbers), asyncio.get_running_loop().create_future()
        loop = asyncio.get_running_loop()

        class Answer:
            def set_result(self, value):
                loop.call_soon_threadsafe(answer.set_result, value)

        app.waiting[name] = Answer()
        if FIXED:
            await asyncio.to_thread(np.copyto, app.shared[name % 4], clip)
            app.todo.put((name, name % 4))
        else:
            app.todo.put((name, clip))  # the cause of mp-pickle: it is pickled, sent through a pipe and unpickled
        return {"class": await answer}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning")
