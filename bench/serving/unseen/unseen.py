#!/usr/bin/env python3
"""Servers held out: situations by somebody who had not read the rules, judged once before anything was repaired.

    bench/serving/unseen/unseen.py --python ~/serve/bin/python --vllm ~/vllm/bin --keep FOLDER
    bench/serving/unseen/unseen.py --again FOLDER

Options and scoring are those of situations.py. PYTHON has torch, fastapi, uvicorn, litserve, ray[serve], aiohttp, grpcio,
bentoml and transformers. Each truth was written before the first run. That of `cold` is mistaken: its passes take one of four
requests that wait.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import situations
from situations import BUSY, DEVICE, HOST, WAITS, Situation

API, PLAIN, AIO, RPC, LIT, RAY, BENTO, HF, CB = (
    f"unseen/{name}.py" for name in ("api", "plain", "aio", "rpc", "litmore", "raymore", "bento", "hf", "cb")
)
GRPC = "unseen/rpc.py load"

situations.SITUATIONS = (
    # FastAPI.
    Situation("queue-full", API, "--clients 24", ("gpu-bound",), "a thread batches eight of 24, passes of 176 ms: healthy", lines=False),
    Situation("queue-one", API, "--clients 10", ("batch-too-small",), "ten in the queue, the thread takes one a pass", lines=False),
    Situation("padding", API, "--clients 16", ("gpu-bound",), "each pass is padded to its longest text: the device is busy with it", lines=False),
    Situation("small-model", API, "--clients 2", ("launch-bound",), "400 kernels of 12 us, each 70 us of the host", lines=False),
    Situation("cold", API, "--clients 4", ("gpu-bound", "start-up"), "12 s of loading in the first request, then long passes", lines=False),
    Situation("log-features", API, "--clients 4", (HOST,), "each request's features are logged as JSON", kinds=("encoding",)),
    Situation("reload", API, "--clients 3", (HOST,), "a checkpoint of 190 MB is read for each request"),
    Situation("to-device", API, "--clients 3", ("transfer-bound",), "1.5 GB go to the device for each request", lines=False),
    Situation("feature-store", API, "--clients 3", (WAITS,), "another service is asked with urllib in the event loop"),
    Situation("gzip", API, "--clients 4", (HOST,), "answers of 500 kB are compressed at level 9", kinds=("compress", "gzip")),
    Situation("nms", API, "--clients 4", (HOST,), "non-maximum suppression in a loop of numpy"),
    Situation("decode", API, "--clients 4", (HOST,), "PNG decoded by OpenCV in threads, on one core", cores="1"),
    Situation("metrics-thread", API, "--clients 3", (HOST,), "a thread that counts all the time holds the interpreter's lock"),
    Situation("thread-lock", API, "--clients 5", (WAITS,), "threads wait for one that sleeps 70 ms under its lock"),
    # No framework that the hook knows.
    Situation("http-json", PLAIN, "--clients 3", (HOST,), "http.server: 2 MB of JSON are parsed for each request", body="floats:100000"),
    Situation("http-lock", PLAIN, "--clients 4", (WAITS,), "http.server: 80 ms asleep under the model's lock"),
    Situation("http-idle", PLAIN, "--poisson 2", ("no-load", "waits-outside"), "http.server: two requests a second", lines=False),
    Situation("aio-json", AIO, "--clients 3", (HOST,), "aiohttp: 90,000 floats in each answer", kinds=("encoding",)),
    Situation("grpc-normalise", RPC, "--clients 4", (HOST,), "gRPC: 3.5 MB of pixels in float64", client=GRPC),
    Situation("grpc-one-worker", RPC, "--clients 4", (WAITS,), "gRPC with one worker, which asks another service", client=GRPC),
    # LitServe, Ray Serve, BentoML.
    Situation("lit-base64", LIT, "--clients 4", (HOST,), "LitServe: base64 and JPEG in decode_request"),
    Situation("lit-full", LIT, "--clients 24", ("gpu-bound",), "LitServe: batches of eight of 24, healthy", lines=False),
    Situation("lit-idle", LIT, "--poisson 2", ("no-load",), "LitServe: two requests a second", lines=False),
    Situation("ray-batch-wait", RAY, "--clients 3", (WAITS,), "Ray Serve: a batch of 32 waits 350 ms for 29 that never come", lines=False),
    Situation("ray-one", RAY, "--clients 8", ("batch-too-small",), "Ray Serve without @serve.batch, eight at a time", lines=False),
    Situation("bento-features", BENTO, "--clients 3", (HOST,), "BentoML: a loop in Python before the model"),
    # Language models.
    Situation("hf-batching", HF, "--clients 6", ("compute-on-cpu",), "transformers serve, the model on the CPU", lines=False,
              path="/v1/completions", body='{"prompt": "quick brown fox", "max_tokens": 16}'),
    Situation("cb-text", CB, "--clients 4", ("cpu-bound/tokenizer", HOST), "all text is made again for each token"),
    Situation("cb-cache", CB, "--clients 12", ("cache-full",), "12 requests of 84 tokens, and a cache of 192", lines=False),
    Situation("vllm-middleware", "vllm", "--clients 4", (HOST,), "a key is checked with 700,000 rounds of SHA-256", env=DEVICE,
              flags="--middleware vllmmore.sign", tokens=4),
    Situation("vllm-words", "vllm", "--clients 4", ("cpu-bound/tokenizer",), "a tokenizer in Python, slow from tokens to text", env=DEVICE,
              flags="--trust-remote-code", tokenizer="slow_words.SlowWords"),
    Situation("vllm-chunks", "vllm", "--clients 8", ("batch-too-small",), "prompts of 600 tokens, 32 of them a pass", lines=False, env=DEVICE,
              flags="--max-num-batched-tokens 32 --max-num-seqs 32 --no-enable-prefix-caching", words=600, tokens=4, says="max-num-batched-tokens"),
    Situation("vllm-full", "vllm", "--clients 16", ("gpu-bound",), "16 at a time, passes of 80 ms: healthy", lines=False, env=BUSY, words=30, tokens=40),
)

if __name__ == "__main__":
    sys.exit(situations.main())
