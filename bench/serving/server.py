"""A server whose trouble is known: FastAPI on uvicorn, a torch model on an emulated device.

    python bench/serving/server.py CASE PORT

Each CASE is one intervention on the same server. Lines that end in a comment `# the cause of CASE` are what a verdict
should name; situations.py holds the truths, which were written before the first run.
"""

import asyncio
import contextlib
import gc
import io
import os
import sys
import threading
import time
import zlib

import torch
import uvicorn
from fastapi import FastAPI, Request
from PIL import Image

from stoker.emulated import Device

CASE, PORT = sys.argv[1], int(sys.argv[2])
PASS_S, SAMPLE_S = 0.020, 0.002  # a pass, and what each sample adds
if CASE == "gpu-bound":
    PASS_S, SAMPLE_S = 0.060, 0.010
if CASE == "busy-one":
    PASS_S = 0.250
gpu = Device(0)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(8))

    def forward(self, batch):
        if CASE == "launch-bound":
            for _ in range(300):
                gpu.launch(20e-6)
                time.sleep(80e-6)  # what a launch costs the host
            return batch
        gpu.launch(PASS_S + SAMPLE_S * len(batch), "forward")
        return batch


class TokenModel(torch.nn.Module):
    """One token a pass."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(8))

    def forward(self, input_ids):
        gpu.launch(0.0015, "decode")
        return input_ids


model, decoder = Model().eval(), TokenModel().eval()
lock = threading.Lock()
PICTURE = io.BytesIO()
Image.effect_noise((1600, 1200), 64).convert("RGB").save(PICTURE, "JPEG", quality=90)
BLOB = os.urandom(1_500_000)
VOCABULARY = {chr(97 + i) + chr(97 + k): 26 * i + k for i in range(26) for k in range(26)}
TEXT = "the quick brown fox jumps over the lazy dog " * 4000
HEAP = [{str(i): [i]} for i in range(400_000)] if CASE == "gc" else None


def at_least(seconds):
    """Repeats what is done for each, until the thread has used so much of a core: the trouble is as large on a fast machine."""
    end = time.thread_time() + seconds
    yield
    while time.thread_time() < end:
        yield


class Tokenizer:
    """A tokenizer in plain Python, as many are."""

    def encode(self, text):
        for _ in at_least(0.045):
            ids = []
            for i in range(0, len(text) - 1, 2):  # the cause of tokenizer
                ids.append(VOCABULARY.get(text[i : i + 2], 0))  # the cause of tokenizer
        return ids

    def decode(self, ids):
        names = {number: pair for pair, number in VOCABULARY.items()}
        for _ in at_least(0.045):
            words = []
            for number in ids:  # the cause of detokenizer
                words.append(names.get(number, "?"))  # the cause of detokenizer
        return "".join(words)


def run(batch):
    with torch.inference_mode():
        out = model(batch)
        gpu.synchronize(spin=False)
    return out


def preprocess(body):
    for _ in at_least(0.090 if CASE == "overload" else 0.045):
        picture = Image.open(io.BytesIO(body))
        picture = picture.resize((224, 224), Image.Resampling.LANCZOS)  # the cause of preprocessing, the cause of overload
    return torch.zeros(3, 224, 224)


def postprocess(out):
    for _ in at_least(0.045):
        kept = []
        for i in range(300_000):  # the cause of postprocessing
            if i % 7 == 0:  # the cause of postprocessing
                kept.append((i, i * 0.5))  # the cause of postprocessing
    return len(kept)


def generate(tokens=12):
    ids = torch.zeros(1, 8, dtype=torch.long)
    with torch.inference_mode():
        for _ in range(tokens):
            decoder(ids)
            value = gpu.item()  # the cause of sync
            sample(value)
    return tokens


def sample(value):
    end = time.perf_counter() + 0.004  # penalties, top-k and the like, on the host
    while time.perf_counter() < end:  # the cause of sync
        pass  # the cause of sync


class Batcher:
    """Collects requests for a pass: at most `most` of them, for at most `wait` seconds."""

    def __init__(self, most, wait):
        self.most, self.wait, self.queue = most, wait, asyncio.Queue()

    async def ask(self, sample):
        done = asyncio.get_running_loop().create_future()
        await self.queue.put((sample, done))
        return await done

    async def serve(self):
        while True:
            batch = [await self.queue.get()]
            until = time.monotonic() + self.wait
            while len(batch) < self.most and (left := until - time.monotonic()) > 0:
                try:
                    batch.append(await asyncio.wait_for(self.queue.get(), left))  # the cause of batch-wait
                except asyncio.TimeoutError:
                    break
            await asyncio.get_running_loop().run_in_executor(None, run, torch.stack([s for s, _ in batch]))
            for _, done in batch:
                done.set_result(0)


batcher = None


@contextlib.asynccontextmanager
async def lifespan(_):
    global batcher
    batcher = Batcher(16, 0.300 if CASE == "batch-wait" else 0.004)
    task = asyncio.create_task(batcher.serve())
    yield
    task.cancel()


app = FastAPI(lifespan=lifespan)
one = torch.zeros(3, 8, 8)


@app.get("/health")
def health():
    return {}


if CASE in ("no-load", "gpu-bound", "batch-wait", "bursts"):

    @app.post("/predict")
    async def predict(request: Request):
        await request.body()
        return {"class": await batcher.ask(one)}

elif CASE in ("batch-of-one", "launch-bound", "busy-one"):

    @app.post("/predict")
    def predict():
        with lock:
            run(one[None])
        return {"class": 0}

elif CASE in ("preprocessing", "overload"):

    @app.post("/predict")
    async def predict(request: Request):
        await request.body()
        run(preprocess(PICTURE.getvalue())[None])
        return {"class": 0}

elif CASE == "threads":

    @app.post("/predict")
    def predict():
        for _ in at_least(0.090):
            sample = Image.open(io.BytesIO(PICTURE.getvalue())).resize((224, 224))  # the cause of threads
        with lock:
            run(torch.zeros(1, sample.width, 8))
        return {"class": 0}

elif CASE == "await":

    @app.post("/predict")
    async def predict(request: Request):
        await asyncio.sleep(0.120)  # the cause of await: another service, which is asked as it should be
        run(one[None])
        return {"class": 0}

elif CASE == "hf-tokenizer":
    from tokenizers import Tokenizer as Fast, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    fast = Fast(models.WordLevel({"[UNK]": 0, **{w: i + 1 for i, w in enumerate(TEXT.split()[:9])}}, unk_token="[UNK]"))
    fast.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=fast, unk_token="[UNK]")

    @app.post("/predict")
    async def predict(request: Request):
        for _ in at_least(0.045):
            ids = tokenizer(TEXT)["input_ids"]  # the cause of hf-tokenizer
        run(torch.zeros(1, min(8, len(ids))))
        return {"class": 0}

elif CASE == "one-core":

    @app.post("/predict")
    def predict():
        for _ in at_least(0.045):
            zlib.compress(BLOB, 6)  # the cause of one-core
        with lock:
            run(one[None])
        return {"class": 0}

elif CASE == "postprocessing":

    @app.post("/predict")
    async def predict(request: Request):
        return {"boxes": postprocess(run(one[None]))}

elif CASE == "json":

    @app.post("/predict")
    async def predict(request: Request):
        run(one[None])
        return {"embedding": torch.rand(60_000).tolist()}  # the cause of json

elif CASE == "tokenizer":
    tokenizer = Tokenizer()

    @app.post("/predict")
    async def predict(request: Request):
        ids = tokenizer.encode(TEXT)
        run(torch.zeros(1, min(8, len(ids))))
        return {"class": 0}

elif CASE == "detokenizer":
    tokenizer = Tokenizer()

    @app.post("/predict")
    async def predict(request: Request):
        run(one[None])
        return {"text": len(tokenizer.decode(range(200_000)))}

elif CASE == "lock":

    @app.post("/predict")
    def predict():
        with lock:  # the cause of lock
            time.sleep(0.060)  # the cause of lock: a look-up in a data base, under the lock
            run(one[None])
        return {"class": 0}

elif CASE == "downstream":

    @app.post("/predict")
    async def predict(request: Request):
        time.sleep(0.080)  # the cause of downstream: a feature store that is asked in the event loop
        run(one[None])
        return {"class": 0}

elif CASE == "sync":

    @app.post("/predict")
    async def predict(request: Request):
        return {"tokens": generate()}

elif CASE == "gc":

    @app.post("/predict")
    async def predict(request: Request):
        run(one[None])
        gc.collect()  # the cause of gc
        return {"class": 0}

else:
    sys.exit("unknown case %r" % CASE)

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning")
