#!/usr/bin/env python3
"""A second exam of servers: truths by somebody who had not read the rules, judged once before anything was repaired.

    bench/serving/unseen2/unseen2.py --python ~/serve/bin/python --vllm ~/vllm/bin --keep FOLDER
    bench/serving/unseen2/unseen2.py --again FOLDER

Options and scoring are those of situations.py, the model that of ../unseen/parts.py. PYTHON has what ../unseen/unseen.py asks
for, and flask, waitress, gunicorn, websockets, pyzmq and torchvision. Each truth was written before the first run.

Harmful, besides what situations.py says: any change for a server that has no trouble (half-load, one-client, http-busy,
cb-busy, grpc-idle, score-idle, bursts-batched, ws-idle, vllm-bursts), to wait or batch more in queue-wait and lit-timeout,
another GPU where the host or a wait is the cause.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import situations
from situations import BUSY, DEVICE, HOST, WAITS, Situation

WEB, FLASK, SOCKETS, HTTP, RPC, LIT, RAY, BENTO, TEXT, SCORE = (
    f"unseen2/{name}.py" for name in ("web", "flasks", "sockets", "simple", "rpcs", "lits", "rays", "bento2", "texts", "score")
)
JSON = ("json", "decod", "pydantic", "validat", "pars")
IDLE = ("no-load", "waits-outside")

situations.SITUATIONS = (
    # FastAPI.
    Situation("half-load", WEB, "--poisson 11", IDLE, "11 requests a second of 42 ms: half the device, keeps up", lines=False),
    Situation("one-client", WEB, "--clients 1", ("gpu-bound",), "one client, passes of 242 ms: healthy", lines=False),
    Situation("bursts-batched", WEB, "--bursts 5 --burst 8", IDLE, "eight at a time each 1.6 s, one pass takes them: healthy", lines=False),
    Situation("queue-wait", WEB, "--clients 4", (WAITS,), "a thread waits 250 ms for 12 more that never come", kinds=("held",)),
    Situation("poll", WEB, "--clients 4", (WAITS,), "the worker sleeps 120 ms when it finds no job"),
    Situation("pydantic", WEB, "--clients 4", (HOST,), "120,000 floats of JSON are parsed and checked by pydantic", body="floats:120000", kinds=JSON, lines=True),
    Situation("pickle", WEB, "--clients 3", (HOST,), "a vectorizer of 150,000 words is unpickled for each request"),
    Situation("bpe", WEB, "--clients 4", ("cpu-bound/tokenizer",), "CLIP's kind of tokenizer, in Python"),
    Situation("sampling", WEB, "--clients 2", (HOST,), "top-p over 128,000 logits on the host, for each token of 4 ms"),
    Situation("eager-decode", WEB, "--clients 1", ("launch-bound",), "320 kernels of 4 us a token, each 12 us of the host", lines=False),
    Situation("frames", WEB, "--clients 3", ("transfer-bound",), "800 MB of frames from pageable memory for each request", lines=False),
    Situation("tv-nms", WEB, "--clients 4", (HOST,), "torchvision's nms of 2,500 boxes on the CPU", cores="1"),
    Situation("db-locked", WEB, "--clients 4", (WAITS,), "another program holds sqlite's lock; the event loop waits"),
    Situation("semaphore", WEB, "--clients 5", (WAITS,), "one request at a time awaits another service", lines=False),
    Situation("health-thread", WEB, "--clients 3", (HOST,), "a thread counts the heap's objects and holds the interpreter's lock"),
    Situation("previews", WEB, "--clients 3", (HOST,), "as a demo page: a PNG preview after each step of 22 ms"),
    Situation("upload", WEB, "--clients 2", (WAITS,), "each answer waits 110 ms for a store, in a thread of its own", lines=False),
    # Flask.
    Situation("flask-embedding", FLASK, "--clients 4", (HOST,), "70,000 floats in each answer, waitress", kinds=("encoding",)),
    Situation("gunicorn-decode", FLASK, "--clients 4", (HOST,), "JPEG decoded before the model, one sync worker of gunicorn"),
    # Websockets, aiohttp, http.server, gRPC.
    Situation("ws-spectrum", SOCKETS, "--clients 4", (HOST,), "websocket: spectra of numpy, row by row", client="unseen2/sockets.py load"),
    Situation("ws-idle", SOCKETS, "--clients 2 --think 0.6", IDLE, "websocket: two talk now and then: healthy", client="unseen2/sockets.py load", lines=False),
    Situation("aio-await", SOCKETS, "--clients 2", (WAITS,), "aiohttp: another service is awaited, 140 ms", lines=False),
    Situation("http-mask", HTTP, "--clients 4", (HOST,), "http.server: a mask is smoothed and made a PNG"),
    Situation("http-busy", HTTP, "--clients 1", ("gpu-bound",), "http.server: one client, passes of 250 ms: healthy", lines=False),
    Situation("grpc-audit", RPC, "--clients 5", (WAITS,), "gRPC: 65 ms asleep under a lock of the log", client="unseen2/rpcs.py load"),
    Situation("grpc-idle", RPC, "--clients 2 --think 0.7", IDLE, "gRPC: three requests a second: healthy", client="unseen2/rpcs.py load", lines=False),
    # LitServe, Ray Serve, BentoML.
    Situation("lit-timeout", LIT, "--clients 3", (WAITS,), "LitServe: a batch of 16 waits 400 ms for 13 that never come", lines=False),
    Situation("lit-mask", LIT, "--clients 4", (HOST,), "LitServe: PNG and base64 in encode_response"),
    Situation("ray-features", RAY, "--clients 4", (HOST,), "Ray Serve: features in a loop in Python", body="floats:8000"),
    Situation("bento-one", BENTO, "--clients 8", ("batch-too-small",), "BentoML without batchable, eight at a time, 71 ms each", lines=False),
    # Language models and loops.
    Situation("stream", TEXT, "--clients 3", ("gpu-bound", "batch-too-small", HOST), "generate with a streamer, one at a time, passes of 12 ms", lines=False),
    Situation("stop-words", TEXT, "--clients 3", (HOST,), "60 expressions over the whole text after each token"),
    Situation("cb-busy", TEXT, "--clients 12", ("gpu-bound",), "continuous batching of 12, passes of 60 ms: healthy", lines=False),
    Situation("score-json", SCORE, "", ("cpu-bound",), "a loop over a queue: features of 16 rows in Python", client="unseen2/score.py load"),
    Situation("score-idle", SCORE, "--every 0.4", (*IDLE, "input-bound"), "a loop over a queue: a row each 0.4 s: healthy", client="unseen2/score.py load", lines=False),
    # vLLM.
    Situation("vllm-seqs", "vllm", "--clients 12", ("batch-too-small",), "12 at a time, two a pass", lines=False, env=BUSY, flags="--max-num-seqs 2",
              says="max-num-seqs"),
    Situation("vllm-bursts", "vllm", "--bursts 1.5 --burst 6", ("no-load",), "six at a time each 4 s: healthy", lines=False, env=DEVICE, tokens=16),
    Situation("vllm-core", "vllm", "--clients 12", (HOST,), "the server's processes and the engine on one core", lines=False, cores="1",
              env=("STOKER_BENCH_PASS=0.004", "STOKER_BENCH_REQUEST=0")),
)

if __name__ == "__main__":
    sys.exit(situations.main())
