#!/usr/bin/env python3
"""A third exam of servers: truths by somebody who had not read the rules, written before the first run.

    bench/serving/unseen3/unseen3.py --python ~/serve/bin/python --keep FOLDER
    bench/serving/unseen3/unseen3.py --again FOLDER
    bench/serving/unseen3/unseen3.py --python ~/serve/bin/python --prove      # no Stoker: each server as it is, and repaired

Options and scoring are those of situations.py, the model that of ../unseen/parts.py. PYTHON has what ../unseen2/unseen2.py asks
for. Each cause is proved: BENCH_FIXED=1 removes it from the same server, and --prove says requests a second and p50 of both.

Harmful, besides what situations.py says: any change for flask-probes, lit-fit, redis-full, mp-bursts, ray-trickle and
ws-camera, which have no trouble; to wait or batch more in aio-batcher; more hardware where the host, a wait or padding is
the cause.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import situations
from situations import HERE, HOST, WAITS, Situation

FAST, TALK, AIO, FLASK, LIT, BENTO, HTTP, RPC, RAY, CB, WORKER = (
    f"unseen3/{name}.py" for name in ("fast", "talk", "aio3", "flask3", "lit3", "bento3", "http3", "grpc3", "ray3", "cb3", "worker")
)
IDLE = ("no-load", "waits-outside")


def clients(kind):
    return f"unseen3/clients.py {kind}"


situations.SITUATIONS = (
    # vllm-project/vllm 31041
    Situation("deepcopy", FAST, "--clients 4", (HOST,), "a conversation of 900 turns is copied deeply for each request", kinds=("deepcopy",)),
    # The standard library's HTTPHandler sends each record and waits for the answer.
    Situation("token-log", FAST, "--clients 3", (WAITS,), "each token is logged to a service that takes 12 ms, under the model's lock"),
    # theneuralbase.com/fastapi-for-ml/learn/beginner/thread-safe-inference
    Situation("async-lock", FAST, "--clients 4", (WAITS,), "an asyncio.Lock round the model is held over an upload of 110 ms"),
    # noamgat/lm-format-enforcer 84, dottxt-ai/outlines 450
    Situation("grammar", FAST, "--clients 2", (HOST,), "which of 24,000 tokens the grammar allows is computed in Python for each token"),
    # pytorch/rl 3955, sgl-project/sglang 33924
    Situation("mp-pickle", FAST, "--clients 3", (HOST,), "clips of 32 MB are pickled into a queue to the model's process", kinds=("pickl", "queue")),
    # ufal/whisper_streaming 120
    Situation("ws-history", TALK, "--clients 2", (HOST,), "websocket: spectra of all that was said so far, for each second of sound", client=clients("ws")),
    # pytorch/serve 2005
    Situation("aio-batcher", AIO, "--clients 4", (WAITS,), "aiohttp: a batch of 32 waits 450 ms for 28 that never come", kinds=("held",)),
    # A table of features without an index.
    Situation("flask-scan", FLASK, "--clients 3", (HOST,), "Flask, waitress: five queries scan 300,000 rows for each request"),
    # benoitc/gunicorn 2652, 344
    Situation("gunicorn-slow", FLASK, "--clients 3", (WAITS,), "Flask, gunicorn: one sync worker sends 24 MB to slow clients", client=clients("slow"), lines=False),
    # huggingface/setfit 360
    Situation("lit-pad", LIT, "--clients 16", ("gpu-bound", "padding"), "LitServe: each text is padded to 512 tokens, the device is busy with it", lines=False),
    # huggingface/tokenizers 1573
    Situation("bento-truncate", BENTO, "--clients 4", ("cpu-bound/tokenizer",), "BentoML: 290 kB are tokenized, and 384 tokens kept"),
    # huggingface/diffusers 2266
    Situation("http-offload", HTTP, "--clients 2", ("transfer-bound",), "http.server: 1.4 GB of weights go to the device for each request", lines=False),
    # ultralytics/ultralytics 25842
    Situation("grpc-boxes", RPC, "--clients 2", ("launch-bound", HOST), "gRPC: 1,800 times .item(), one for each number of each box", client=clients("rpc"), lines=True),
    # PsycheFoundation/nousnet 588
    Situation("ray-recompile", RAY, "--clients 2", (HOST,), "Ray Serve: torch.compile compiles again for each length of text", kinds=("compil", "dynamo")),
    # huggingface/transformers 46434
    Situation("cb-requests", CB, "--clients 12", ("batch-too-small",), "continuous batching: two of 12 requests a pass", lines=False),
    # A worker that takes one job a time from a list.
    Situation("redis-one", WORKER, "--clients 24", ("batch-too-small",), "a worker takes one of 24 jobs a pass from Redis", client=clients("redis"), lines=False),
    # Healthy, or idle for no fault.
    Situation("flask-probes", FLASK, "", IDLE, "Flask: 25 health checks a second, and about one request: healthy", client=clients("probes"), lines=False),
    Situation("lit-fit", LIT, "--clients 20", ("gpu-bound",), "LitServe: batches of eight of 20, 300 ms: healthy", lines=False),
    Situation("redis-full", WORKER, "--clients 40", ("gpu-bound",), "a worker takes 16 of 40 jobs a pass from Redis: healthy", client=clients("redis"), lines=False),
    Situation("mp-bursts", WORKER, "", IDLE, "a worker of a queue of multiprocessing: 32 jobs each four seconds: healthy", client=clients("bursts"), lines=False),
    Situation("ray-trickle", RAY, "--poisson 1.5", IDLE, "Ray Serve: three requests in two seconds, batched if they meet: healthy", lines=False),
    Situation("ws-camera", TALK, "--clients 1", IDLE, "websocket: a camera of four pictures a second: healthy", client=clients("camera"), lines=False),
)


def prove(o):
    """Run each server with its cause and without, unobserved."""
    for s in situations.SITUATIONS:
        if o.only and s.case not in o.only.split(","):
            continue
        said = []
        for fixed in o.fixed:
            if fixed == "1" and ("healthy" in s.why):
                continue
            port = situations.free_port()
            command, env = situations.command_of(o, s, port)
            with open(f"/tmp/{s.case}.{fixed}.prove", "w") as out:
                server = subprocess.Popen(command, env=dict(env, BENCH_FIXED=fixed), stdout=out, stderr=out, start_new_session=True)
            try:
                path, body = situations.asks(s)
                if not s.client and not situations.wait_until_open(port, server, (path, body)):
                    said.append("did not open")
                    continue
                generator = s.client.split() or ["load.py", "--path", path, "--body", body]
                asking = [o.python, str(HERE / generator[0]), *generator[1:], "--port", str(port), "--seconds", str(o.seconds), *s.load.split()]
                done = subprocess.run(asking, capture_output=True, text=True, timeout=o.seconds + 90)
                got = json.loads(done.stdout or "{}") or {"rate": -1, "p50": 0, "err": done.stderr[-300:]}
                said.append(f"{got['rate']:.2f}/s p50 {got['p50'] or 0:.3f} s {got.get('err', '')}")
            except subprocess.TimeoutExpired:
                said.append("timed out")
            finally:
                situations.end_session(server.pid)
                server.kill()
                server.wait()
        print(f"{s.case:16} {' | repaired '.join(said)}  load {os.getloadavg()[0]:.0f}", flush=True)


if __name__ == "__main__":
    if "--prove" in sys.argv:
        import argparse

        p = argparse.ArgumentParser()
        p.add_argument("--prove", action="store_true")
        p.add_argument("--python", default=sys.executable)
        p.add_argument("--only", default="")
        p.add_argument("--vllm", default="")
        p.add_argument("--keep", default="")
        p.add_argument("--fixed", default="01", help="0: only as it is, 1: only repaired")
        p.add_argument("--seconds", type=float, default=8)
        sys.exit(prove(p.parse_args()))
    sys.exit(situations.main())
