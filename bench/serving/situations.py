#!/usr/bin/env python3
"""Servers whose trouble is known by construction: is class and line right, and is any advice harmful?

    bench/serving/situations.py --python ~/serve/bin/python            # all, 15 minutes
    bench/serving/situations.py --python ~/serve/bin/python --only json --keep FOLDER
    bench/serving/situations.py --again FOLDER                         # judge kept recordings with this bin/stoker

Each situation is one intervention on a server on the emulated device, under its load. Its truth is written
below, and was written before it ran first. PYTHON has torch, fastapi, uvicorn, litserve and
ray[serve] (opentelemetry-exporter-prometheus as old as opentelemetry-sdk: 0.66b1 for 1.45.1, or Ray does not start).

A class is right if it is the one below, or a kind of it. A line is right if the verdict's ledger names a line that the
server marks with "the cause of CASE", or (where the cause is a library's work) a kind of line that is named below. Advice
is harmful if the plan changes an unrelated setting (of a DataLoader), if it advises something to a server that
keeps up, or to wait or batch more where a batch that fills is the cause.
"""

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from load import body_of

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PREFER = 18  # seconds of load


@dataclass(frozen=True)
class Situation:
    case: str
    server: str
    load: str
    classes: tuple  # any of them is right
    why: str
    kinds: tuple = ()  # of a named line, where the cause is a library's work
    lines: bool = True  # a line is to be named
    cores: str = ""
    flags: str = ""  # of vllm serve
    env: tuple = ()  # of the server: NAME=VALUE
    tokens: int = 24  # of an answer of vLLM's
    words: int = 4  # of a prompt
    says: str = ""  # a word that the plan or the evidence holds: the setting, as the server calls it
    path: str = "/predict"
    body: str = "{}"  # or "floats:N", a list of so many
    client: str = ""  # another load generator
    tokenizer: str = ""  # MODULE.CLASS in the folder of the server's file: vLLM's tokenizer


HOST, WAITS = "cpu-bound/server", "server-waits"
DEVICE, BUSY, QUICK = (("STOKER_BENCH_PASS=" + s, "STOKER_BENCH_REQUEST=0") for s in ("0.020", "0.080", "0.001"))

SITUATIONS = (
    Situation("no-load", "server.py", "--poisson 3", ("no-load",), "three requests a second, each of 22 ms", lines=False),
    Situation("bursts", "server.py", "--bursts 6 --burst 6", ("no-load",), "six at a time, once a second", lines=False),
    Situation("gpu-bound", "server.py", "--clients 40", ("gpu-bound",), "batches of 16 that take 220 ms, always full", lines=False),
    Situation("batch-of-one", "server.py", "--clients 8", ("batch-too-small",), "eight at a time, one a pass", lines=False),
    Situation("batch-wait", "server.py", "--clients 3", (WAITS,), "a batch of 16 waits 300 ms for 13 that never come", kinds=("held",)),
    Situation("preprocessing", "server.py", "--clients 4", (HOST,), "a JPEG is decoded and resized in the event loop"),
    Situation("one-core", "server.py", "--clients 4", (HOST,), "zlib in threads, all on one core", cores="0"),
    Situation("postprocessing", "server.py", "--clients 4", (HOST,), "a loop in Python after each pass"),
    Situation("json", "server.py", "--clients 4", (HOST,), "60,000 floats in each answer", kinds=("encoding",)),
    Situation("tokenizer", "server.py", "--clients 4", ("cpu-bound/tokenizer",), "a tokenizer in Python"),
    Situation("detokenizer", "server.py", "--clients 4", ("cpu-bound/tokenizer",), "tokens to text in Python"),
    Situation("lock", "server.py", "--clients 4", (WAITS,), "60 ms asleep under the lock that the model needs"),
    Situation("downstream", "server.py", "--clients 4", (WAITS,), "80 ms asleep in the event loop"),
    Situation("sync", "server.py", "--clients 2", (HOST,), "4 ms of sampling on the host after each token of 1.5 ms"),
    Situation("gc", "server.py", "--clients 2", (HOST,), "gc.collect() over a large heap in each request"),
    Situation("launch-bound", "server.py", "--clients 1", ("launch-bound",), "300 launches of 20 us, each 80 us of the host", lines=False),
    Situation("lit-decode", "lit.py", "--clients 4", (HOST,), "LitServe: a loop in Python in decode_request"),
    Situation("lit-postprocess", "lit.py", "--clients 1", (WAITS,), "LitServe: 50 ms asleep in predict"),
    Situation("lit-one", "lit.py", "--clients 8", ("batch-too-small",), "LitServe without max_batch_size, eight at a time", lines=False),
    # Held out: written when the rules were done, and judged once.
    Situation("threads", "server.py", "--clients 6", (HOST,), "a JPEG is decoded in threads, before a lock", cores="0,1"),
    Situation("overload", "server.py", "--poisson 12 --drain 40", (HOST,), "more requests than preprocessing takes, open loop"),
    Situation("await", "server.py", "--clients 2", (WAITS,), "another service is awaited, and nothing blocks", lines=False),
    Situation("hf-tokenizer", "server.py", "--clients 4", ("cpu-bound/tokenizer",), "transformers' fast tokenizer on 200 kB of text"),
    Situation("busy-one", "server.py", "--clients 1", ("gpu-bound",), "one client, and the device works for it nearly all the time", lines=False),
    Situation("ray-preprocess", "replica.py", "--clients 4", (HOST,), "Ray Serve: a loop in Python in the replica"),
    # vLLM, its worker's device emulated (engine.py). --vllm names its folder of programs.
    Situation("vllm-no-load", "vllm", "--poisson 0.5", ("no-load",), "a request each two seconds, of 24 passes of 22 ms", lines=False, env=DEVICE),
    Situation("vllm-one", "vllm", "--clients 1", ("gpu-bound",), "one client, and passes of 80 ms", lines=False, env=BUSY),
    Situation("vllm-many", "vllm", "--clients 16", ("gpu-bound",), "passes of 16 requests and 80 ms", lines=False, env=BUSY),
    Situation("vllm-few-seqs", "vllm", "--clients 12", ("batch-too-small",), "12 at a time, one a pass", lines=False, env=BUSY,
              flags="--max-num-seqs 1", says="max-num-seqs"),
    Situation("vllm-cache", "vllm", "--clients 12", ("cache-full",), "12 requests of 200 tokens, and a cache of 640", lines=False, env=DEVICE,
              flags="--num-gpu-blocks-override 20 --block-size 32 --max-model-len 512", tokens=200, says="gpu-memory-utilization"),
    Situation("vllm-tokenizer", "vllm", "--clients 8", ("cpu-bound/tokenizer",), "a tokenizer in Python, on 6 kB of text", env=DEVICE, words=1200,
              flags="--trust-remote-code", tokens=4),
    Situation("vllm-sampler", "vllm", "--clients 4", (HOST,), "a penalty in Python, of each request and token", env=DEVICE,
              flags="--logits-processors engine:Penalty"),
    Situation("vllm-host", "vllm", "--clients 16", (HOST,), "passes of 1 ms: the engine's own work is the rest", lines=False, env=QUICK),
    # vLLM on the CPU as it is.
    Situation("vllm-cpu-no-load", "vllm", "--poisson 0.5", ("no-load",), "a request each two seconds", lines=False),
    Situation("vllm-cpu-many", "vllm", "--clients 16", ("compute-on-cpu",), "16 at a time, and the model on the CPU", lines=False),
)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def asks(s):
    """Path and body of a situation's requests."""
    if s.server != "vllm":
        return s.path, s.body
    return "/v1/completions", json.dumps({"model": "tiny", "prompt": "quick " * s.words, "max_tokens": s.tokens, "ignore_eos": True})


def command_of(o, s, port):
    """The server's command line, and its environment."""
    env = dict(os.environ, STOKER_EMULATE="1", PYTHONPATH=f"{ROOT / 'python'}:{HERE / 'unseen'}", RAY_DEDUP_LOGS="0", PYTHONUNBUFFERED="1")
    if s.server != "vllm":
        return [o.python, str(HERE / s.server), s.case, str(port)], env
    model = Path(o.keep or "stoker-runs/serving").resolve() / "tiny"
    if not model.exists():
        subprocess.run([Path(o.vllm) / "python", str(HERE / "tiny.py"), str(model)], check=True)
    env.update(VLLM_CPU_KVCACHE_SPACE="1", VLLM_NO_USAGE_STATS="1", HF_HUB_OFFLINE="1",
               PYTHONPATH=f"{ROOT / 'python'}:{HERE}:{HERE / 'unseen'}",
               PATH=f"{o.vllm}:{os.environ['PATH']}", **dict(e.split("=") for e in s.env))
    if s.tokenizer:
        subprocess.run([Path(o.vllm) / "python", str(HERE / "tiny.py"), str(model.with_name(s.case)), s.tokenizer], check=True)
    model = str(model.with_name(s.case)) if s.tokenizer else f"{model}-slow" if "--trust-remote-code" in s.flags else str(model)
    command = [str(Path(o.vllm) / "vllm"), "serve", model, "--served-model-name", "tiny", "--load-format", "dummy", "--enforce-eager", "--port", str(port)]
    return command + (["--worker-cls", "engine.Worker"] if s.env else []) + s.flags.split(), env


def wait_until_open(port, process, asked=("/predict", "{}"), seconds=240):
    """Until the server answers a request of the load's kind; False if it ended."""
    path, body = asked[0], body_of(asked[1])
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), 1) as s:
                s.settimeout(20)
                s.sendall((head + body).encode())
                if b" 200" in s.recv(16):
                    return True
        except OSError:
            pass
        time.sleep(0.3)
    return False


def end_session(leader):
    """End what a server has left behind: some end before their own workers do."""
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.getsid(int(entry)) == leader:
                os.kill(int(entry), signal.SIGKILL)
        except ProcessLookupError:
            pass


def record(o, s, to):
    """Observe one situation; the load generator's figures."""
    port = free_port()
    server, env = command_of(o, s, port)
    command = [o.stoker, "observe", "--no-trace", "-o", str(to), "--", *server]
    if o.trace:
        command.remove("--no-trace")
    if s.cores:
        command = ["taskset", "-c", s.cores, *command]
    to.unlink(missing_ok=True)
    with open(to.with_suffix(".out"), "w") as out:
        server = subprocess.Popen(command, env=env, stdout=out, stderr=out, start_new_session=True)
    try:
        path, body = asks(s)
        if not s.client and not wait_until_open(port, server, (path, body)):
            return {"error": "the server did not open its port"}
        if hasattr(o, "begin_together"):
            o.begin_together.wait(240)
        generator = s.client.split() or ["load.py", "--path", path, "--body", body]
        asking = [o.python, str(HERE / generator[0]), *generator[1:], "--port", str(port), "--seconds", str(o.seconds), *s.load.split()]
        done = subprocess.run(asking, capture_output=True, text=True, timeout=o.seconds + 60)
        return json.loads(done.stdout)
    except (subprocess.TimeoutExpired, json.JSONDecodeError, threading.BrokenBarrierError) as error:
        return {"error": str(error)[:200]}
    finally:
        server.terminate()
        try:
            server.wait(40)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        end_session(server.pid)


def judge(o, to):
    done = subprocess.run([o.stoker, "diagnose", "--json", str(to)], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode in (0, 3) else {"error": done.stderr.strip()[:300]}


def causes(s):
    """The lines that the server marks."""
    files = [s.server] if s.server != "vllm" else ["engine.py", "unseen/vllmmore.py", "unseen/slow_words.py"]
    texts = {Path(name).name: (HERE / name).read_text() for name in files} | ({"slow_tokenizer.py": tiny_slow()} if s.server == "vllm" else {})
    return {f"{name}:{n}" for name, text in texts.items() for n, line in enumerate(text.splitlines(), 1) if re.search(rf"the cause of {re.escape(s.case)}\b", line)}


def tiny_slow():
    """The text of the slow tokenizer, as tiny.py writes it."""
    text = (HERE / "tiny.py").read_text()
    return text.split("SLOW = '''")[1].split("'''")[0]


def named_lines(verdict):
    """Lines and kinds that the verdict names: of its ledger, and of its plan."""
    rows = [r for r in verdict.get("ledger") or [] if r["row"] in ("between-steps", "requests-wait", "inference")]
    text = json.dumps([rows, verdict.get("plan"), verdict.get("evidence")])
    return set(re.findall(r"\w+\.py:\d+", json.dumps([[r.get("line") for r in rows], [f.get("at") for f in verdict.get("plan") or []]]))), text


KIND_WORDS = {"encoding": "encoding answers", "held": "a request waits there"}
LOADER = ("num_workers", "prefetch_factor", "pin_memory", "persistent_workers", "DataLoader", "__getitem__", "collate_fn")


def score(s, verdict, causes):
    said = verdict.get("verdict", {}).get("class") or "?"
    right = any(said == c or said.startswith(c + "/") for c in s.classes)
    lines, text = named_lines(verdict)
    line = not s.lines or bool(lines & causes) or any(KIND_WORDS.get(k, k) in text for k in s.kinds)
    plan = json.dumps(verdict.get("plan", []))
    harmful = any(word in plan for word in LOADER)
    harmful |= "no-load" in s.classes and bool(verdict.get("plan"))
    harmful |= s.case == "batch-wait" and said == "batch-too-small"
    harmful |= said != "unknown" and not right and bool(verdict.get("plan"))
    line &= s.says.replace("-", "_") in text.replace("-", "_")
    return said, right, line, harmful, sorted(lines)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--python", default=sys.executable)
    p.add_argument("--stoker", default=str(ROOT / "bin/stoker"))
    p.add_argument("--only", default="", help="cases, with commas")
    p.add_argument("--vllm", default="", help="folder of vLLM's programs; without it its situations are left out")
    p.add_argument("--seconds", type=float, default=PREFER)
    p.add_argument("--keep", default="", help="folder of the recordings")
    p.add_argument("--again", default="", help="folder of recordings to judge again")
    p.add_argument("--trace", action="store_true", help="let observe take its trace")
    o = p.parse_args()
    folder = Path(o.again or o.keep or "stoker-runs/serving")
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [s for s in SITUATIONS if (not o.only or s.case in o.only.split(",")) and (o.vllm or o.again or s.server != "vllm")]
    rights = lines = harms = count = 0
    for s in wanted:
        to = folder / f"{s.case}.jsonl.gz"
        load = {} if o.again else record(o, s, to)
        if not to.exists() or load.get("error") or o.again and not to.with_suffix(".lines.json").exists():
            print(f"{s.case:18} FAILED {load.get('error', 'no recording')}", flush=True)
            continue
        truth = to.with_suffix(".lines.json")  # the server may be edited when it is judged again
        if load:
            truth.write_text(json.dumps(sorted(causes(s))))
        said, right, line, harmful, found = score(s, judge(o, to), set(json.loads(truth.read_text())))
        count, rights, lines, harms = count + 1, rights + right, lines + (right and line), harms + harmful
        rate = f"{load['rate']:.1f}/s p50 {load['p50'] or 0:.2f} s" if load else ""
        print(f"{s.case:18} {said:22} {'right' if right else 'WRONG, ' + '|'.join(s.classes):28} "
              f"{'line' if line else 'NO LINE':8} {'HARMFUL' if harmful else '':8} {','.join(found)[:60]:60} {rate}", flush=True)
    print(f"{count} situations: class right {rights}, class and line right {lines}, harmful {harms}; load {os.getloadavg()[0]:.0f}")
    return 0 if harms == 0 and lines >= 0.9 * count else 1


if __name__ == "__main__":
    sys.exit(main())
