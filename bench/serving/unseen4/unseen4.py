#!/usr/bin/env python3
"""A fourth exam of servers: truths by somebody who had not read the rules, written before anything ran.

    bench/serving/unseen4/unseen4.py --python ~/serve/bin/python --keep FOLDER [NAME ...]
    bench/serving/unseen4/unseen4.py --again FOLDER [NAME ...]              # judge kept recordings with another bin/stoker
    bench/serving/unseen4/unseen4.py --python ~/serve/bin/python --prove    # no Stoker: each server as it is, and repaired

PYTHON has what ../unseen2/unseen2.py asks for, and tornado, requests and scipy. The model is that of ../unseen/parts.py.

The servers hold no mark and no switch: a line is known by its text, and a repair is an edit of a copy. A service that a
server asks (elsewhere.py) is not observed. Four things are judged of each:

    class    the verdict's is one of `classes`, or a kind of one
    line     the ledger or the plan names a line that `line` matches (of a function, if it matches a `def`)
    fix      the plan holds what `fix` matches; a healthy server's plan is empty, or only what `allowed` matches
    harmful  the plan holds what `harmful` matches, or a setting of a DataLoader; any plan for a healthy server;
             a plan without the fix under a wrong class

Expressions do not understand a "not": NAME.screen.txt in FOLDER is to be read before a NO FIX or HARMFUL is believed.
"""

import argparse
import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from situations import HERE, HOST, LOADER, ROOT, WAITS, end_session, free_port, named_lines, wait_until_open

FOLDER = Path(__file__).resolve().parent
TOKENS, ONE, DEVICE = "cpu-bound/tokenizer", "batch-too-small", "gpu-bound"
IDLE = ("no-load", "waits-outside")
#: Advice that a server bound by its host or by a wait has no use for.
HARDWARE = r"(faster|bigger|another|second|more) (GPU|device|card|accelerator)s?\b(?! (work|time|memory|second))"
#: Longer waits for a batch, or larger batches, where no other request is there.
GATHER = r"(?i:(raise|increase|larger|longer|bigger|more|enlarge)[^.\"]{0,40}(batch|window|wait|timeout|delay))"


@dataclass(frozen=True)
class Truth:
    name: str
    server: str
    load: str
    classes: tuple
    why: str  # the truth, in a sentence
    fix: str = ""  # empty: the server is healthy
    line: str = ""  # empty: no line is asked for
    harmful: str = HARDWARE
    allowed: str = ""
    repair: tuple = ()  # (old, new), (old, new) ... in the server's text: the cause is gone
    seconds: float = 28
    cores: str = ""
    client: str = ""  # another load generator than load.py
    service: float = 0  # seconds that another service takes to answer, at the port behind the server's
    path: str = "/predict"
    body: str = "{}"


def clients(kind):
    return f"unseen4/clients.py {kind}"


TRUTHS = (
    # FastAPI, Starlette.
    Truth(
        "photos", "listing.py", "--clients 4", (HOST,),
        "Starlette: a photo of 6 MP is decoded, its contrast equalised and made small in threads that share one core.",
        fix=r"(?i)\bcores?\b|\bcpus\b|decod|resiz|prepare\b|clahe|smaller|on the (GPU|device)", line=r"prepare\(", cores="0",
        harmful=rf"{HARDWARE}|(?i:(more|add|raise)[^.\"]{{0,30}}(workers|processes|threads))",
        repair=(("(3000, 2000)", "(300, 200)"),),
    ),
    Truth(  # michaelfeil/infinity 154, sgl-project/sglang 38974
        "pairs", "rerank.py", "--clients 3", (TOKENS, HOST),
        "FastAPI: a reranker tokenizes its 300 pairs of query and passage one by one, and one pass scores them.",
        fix=r"(?i)tokeni[sz]", line=r"tokenizer\(question, passage",
        repair=(("\ntokenizer = wordpiece()", "\ntokenizer = __import__('functools').cache(wordpiece())"),),
    ),
    Truth(  # Kludex/starlette 2972, fastapi/fastapi 1313
        "background", "moderate.py", "--clients 4", (WAITS,),
        "FastAPI: a background task that is a coroutine posts with requests, 130 ms, and the event loop stands still.",
        fix=r"(?i)to_thread|a thread|in threads|httpx|aiohttp|asynchronous|await|plain def|background|off the (event )?loop",
        line=r"requests\.post|def record", service=0.130,
        harmful=f"{HARDWARE}|{GATHER}", repair=(("async def record", "def record"),),
    ),
    Truth(  # huggingface/transformers: the loop over experts in Python
        "experts", "chat.py", "--clients 1", ("launch-bound", HOST),
        "FastAPI, a stream: after the router of each of 24 layers the host reads which experts were chosen, and launches 15 small kernels.",
        fix=r"(?i)graph|torch\.compile|item\(|tolist|fewer (launches|kernels)|larger kernels|fus(e|ed|ing)\b|synchroni", line=r"\.tolist\(\)|def forward|def experts",
        repair=(("        for layer in self.layers:\n            x = layer(x)\n", "        device().launch(LAYERS * 39e-6, 'graph')\n"),),
    ),
    # Flask, http.server, Tornado, aiohttp.
    Truth(
        "converter", "transcribe.py", "--clients 4", (HOST, WAITS),
        "Flask: each request runs a program that resamples its sound, a quarter of a second, under the lock that the model needs.",
        fix=r"(?i)subprocess|program|child|resampl|convert|lock", line=r"subprocess\.run|with busy|resample\(",
        repair=(("sound = resample(request.get_data())", "sound = b'0' * 1000"),),
    ),
    Truth(  # NVIDIA/OpenSeq2Seq 228, espnet/espnet 748
        "beams", "dictate.py", "--clients 3", (HOST,),
        "Flask: a beam search over 200 frames in Python, after each pass.",
        fix=r"(?i)beam|process(es)?\b|compiled|C\+\+|numba|vectori|native",
        harmful=rf"{HARDWARE}|(?i:\b(use|add|raise|more|in) threads\b)", line=r"beam_search\(",
        repair=(("WIDTH, SYMBOLS = 48, 16", "WIDTH, SYMBOLS = 1, 1"),),
    ),
    Truth(  # pytorch/pytorch 55898
        "shapes", "forms.py", "--clients 3", (HOST,),
        "Flask, gunicorn: pages have 24 sizes, four traced models are kept, so nearly each request traces the model again.",
        fix=r"(?i)\btrac(e|ed|es|ing)\b|compil|maxsize|shape|sizes|bucket|cache|lru", line=r"torch\.jit\.trace|model_for\(",
        repair=(("for n in range(24)])", "for n in range(1)])"),),
    ),
    Truth(  # triple-mu/YOLOv8-TensorRT 263, ultralytics/ultralytics 4064
        "masks", "cutout.py", "--clients 2", (HOST,),
        "http.server: 30 masks are copied back one by one and made as large as the picture on the CPU.",
        fix=r"(?i)interpolat|resiz|masks?\b|full_size|on the (GPU|device)|in one copy|one by one", line=r"F\.interpolate|\.cpu\(\)|full_size\(",
        repair=(("size=(1080, 1920)", "size=(108, 192)"),),
    ),
    Truth(  # tornado's own example of run_on_executor
        "one-thread", "lookalike.py", "--clients 6", (WAITS,),
        "Tornado: the executor has one thread, which fetches 90 ms from a store for one request at a time.",
        fix=r"(?i)max_workers|more threads|larger pool|executor|fetch|concurren|at (once|the same time)|AsyncHTTPClient|overlap|ahead",
        line=r"urlopen|fetch\(", service=0.090,
        harmful=f"{HARDWARE}|{GATHER}", repair=(("max_workers=1", "max_workers=8"),),
    ),
    Truth(  # triton-inference-server/server 6740, 3984
        "for-each", "ensemble.py", "--clients 16", (ONE,),
        "aiohttp, a back end as Triton's: execute gets up to 16 requests, and runs the model for each of them.",
        fix=r"(?i)batch|stack|together|one pass|concat", harmful=rf"{HARDWARE}|(?i:(longer|raise|increase)[^.\"]{{0,40}}(window|wait|timeout|delay))",
        repair=(("        return [self.model(request.tensor[None]) for request in requests]",
                 "        return list(self.model(torch.stack([request.tensor for request in requests])))"),),
    ),
    # gRPC.
    Truth(
        "window", "vectors.py", "--clients 3", (WAITS,),
        "gRPC with asyncio: after the first request of a batch the server sleeps 250 ms for others, and three clients wait.",
        fix=r"(?i)sleep|window|wait|gather|shorter|LINGER", line=r"asyncio\.sleep|\bgather\(\)", client=clients("rpc --method /search.Vectors/Embed"),
        harmful=f"{HARDWARE}|{GATHER}", repair=(("LINGER = 64, 0.250", "LINGER = 64, 0.003"),),
    ),
    Truth(  # SeldonIO/seldon-core 278, aws/deep-learning-containers 1651
        "fields", "telemetry.py", "--clients 3", (HOST,),
        "gRPC: 60,000 readings come as a protobuf ListValue, which MessageToDict takes apart in Python.",
        fix=r"(?i)MessageToDict|protobuf|\bbytes\b|frombuffer|packed|pars(e|ing)|convert|decod|json_format|process(es)?\b", line=r"MessageToDict\(",
        client=clients("rpc --method /plant.Telemetry/Score --numbers 60000"),
        repair=(("MessageToDict(request)", "[v.number_value for v in request.values]"),),
    ),
    # LitServe, Ray Serve, BentoML.
    Truth(  # pytorch/serve 459, 1138
        "three-workers", "captions.py", "--clients 8", (HOST,),
        "LitServe: three workers, a device each, make spectra on the CPU, and together they have two cores.",
        fix=r"(?i)\bcores?\b|\bcpus\b|set_num_threads|OMP_NUM_THREADS|spectr|stft|on the (GPU|device)", line=r"spectrum\(",
        harmful=rf"{HARDWARE}|(?i:(more|raise|increase)[^.\"]{{0,30}}(workers|replicas))", repair=(("SECONDS = 240", "SECONDS = 1"),),
    ),
    Truth(
        "two-of-16", "toxic.py", "--clients 16", (ONE,),
        "LitServe: max_batch_size is 2, 16 ask at a time, and a pass of one takes as long as one of 16.",
        fix=r"max_batch_size", harmful=rf"{HARDWARE}|(?i:(longer|raise|increase)[^.\"]{{0,40}}(batch_timeout|window|wait))",
        repair=(("max_batch_size=2", "max_batch_size=16"),),
    ),
    Truth(  # ray-project/ray 52609
        "one-ongoing", "fraud.py", "--clients 6", (WAITS,),
        "Ray Serve: max_ongoing_requests is 1, and the one request awaits a table of features for 120 ms.",
        fix=r"(?i)max_ongoing_requests|concurren|at (once|the same time)|overlap|replicas|features\b|ahead",
        line=r"session\.get|answer\.json|features\(\)", service=0.120,
        harmful=f"{HARDWARE}|{GATHER}", repair=(("max_ongoing_requests=1", "max_ongoing_requests=16"),), seconds=32,
    ),
    Truth(  # huggingface/api-inference-community 334, huggingface/peft 957
        "adapters", "avatar.py", "--clients 2", (HOST,),
        "BentoML: the style's adapter is merged into the weights on the CPU for each request, though there are three styles.",
        fix=r"(?i)merg(e|ed|ing)\b|cache|\bkeep\b|\bonce\b|adapter", line=r"merge\(",
        repair=(("    def merge(self, style):", "    @functools.cache\n    def merge(self, style):"), ("cycle(STYLES)", "cycle(STYLES[:1])")), seconds=32,
    ),
    # A worker of a queue.
    Truth(  # rq/rq 1088, 210, 1481
        "work-horse", "upscale.py", "--clients 4", (HOST, "start-up", "cpu-bound"),
        "A worker as RQ's: it forks for each job, and each child imports PyTorch and loads the model.",
        fix=r"(?i)\bimport|\bload(s|ed|ing)?\b|fork|\bonce\b|\bkeep\b|each job|one process|start-up", line=r"import torch|torch\.load|os\.fork|def perform|def load",
        client="unseen3/clients.py redis", harmful=f"{HARDWARE}|{GATHER}",
        repair=(("        child = os.fork()\n        if child == 0:\n", "        if True:\n"), ("answer)\n            os._exit(0)\n", "answer)\n"),
                ("        os.waitpid(child, 0)\n", ""), ("def load():", "@__import__('functools').cache\ndef load():")), seconds=35,
    ),
    # Healthy, or idle for no fault.
    Truth(
        "late-start", "greetings.py", "--poisson 2", (*IDLE, "start-up"),
        "FastAPI: the first request loads the model for 9 s, then two requests a second of 25 ms: healthy.",
        allowed=r"(?i)load|warm|start", seconds=30,
    ),
    Truth(
        "eights", "summaries.py", "--clients 24", (DEVICE,),
        "BentoML: batches of eight of 24 requests, 400 ms each, one after another: healthy.",
        seconds=32, body='{"letters": ["dear sir"]}',
    ),
    Truth(
        "overlapped", "search.py", "--clients 32", (DEVICE,),
        "FastAPI: 6 ms of decoding in threads for each request while the device is busy with the last 16: healthy.",
    ),
    Truth(
        "fits", "tags.py", "--poisson 7", IDLE,
        "aiohttp: seven requests a second, 12 ms of decoding and 45 ms of the device: a third of it, and all are answered at once: healthy.",
    ),
    Truth(
        "reader", "helpdesk.py", "--poisson 0.35", IDLE,
        "transformers: an answer of 16 tokens each three seconds, and the device works for all of it: healthy.",
        seconds=35,
    ),
)


def causes(truth):
    """The lines that the truth means: those that its expression matches, and all of a function whose `def` it matches."""
    if not truth.line:
        return set()
    text = (FOLDER / truth.server).read_text()
    numbers = {n for n, line in enumerate(text.splitlines(), 1) if re.search(truth.line, line)}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.lineno in numbers:
            numbers.update(range(node.lineno, node.end_lineno + 1))
    return {f"{truth.server}:{n}" for n in numbers}


def environment(folder, port):
    return dict(os.environ, STOKER_EMULATE="1", PYTHONPATH=f"{ROOT / 'python'}:{HERE / 'unseen'}", PYTHONUNBUFFERED="1",
                RAY_DEDUP_LOGS="0", BENTOML_DO_NOT_TRACK="1", SERVICE_URL=f"http://127.0.0.1:{port + 1}")


def run(o, truth, command, port, out, seconds):
    """Start the server, ask it, end it; the load generator's figures."""
    if truth.cores:
        command = ["taskset", "-c", truth.cores, *command]
    service = truth.service and subprocess.Popen([o.python, str(FOLDER / "elsewhere.py"), str(port + 1), str(truth.service)])
    with open(out, "w") as f:
        server = subprocess.Popen(command, env=environment(FOLDER, port), stdout=f, stderr=f, start_new_session=True)
    try:
        if not truth.client and not wait_until_open(port, server, (truth.path, truth.body)):
            return {"error": "the server did not open its port"}
        generator = truth.client.split() or ["load.py", "--path", truth.path, "--body", truth.body]
        asking = [o.python, str(HERE / generator[0]), *generator[1:], "--port", str(port), "--seconds", str(seconds), *truth.load.split()]
        done = subprocess.run(asking, capture_output=True, text=True, timeout=seconds + 90)
        return json.loads(done.stdout or "{}") or {"error": done.stderr[-300:]}
    except (subprocess.TimeoutExpired, json.JSONDecodeError) as error:
        return {"error": str(error)[:200]}
    finally:
        server.terminate()
        try:
            server.wait(40)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        end_session(server.pid)
        if service:
            service.kill()
            service.wait()


def record(o, truth, to):
    port = free_port()
    to.unlink(missing_ok=True)
    command = [o.stoker, "observe", *([] if o.trace else ["--no-trace"]), "-o", str(to), "--", o.python, str(FOLDER / truth.server), str(port)]
    return run(o, truth, command, port, to.with_suffix(".out"), truth.seconds)


def prove(o, truth):
    """Requests a second and the median, of the server as it is and repaired, unobserved."""
    said = []
    for repair in ((), truth.repair):
        if said and not repair:
            continue
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(FOLDER, folder, dirs_exist_ok=True)
            server = Path(folder) / truth.server
            text = server.read_text()
            for old, new in repair:
                assert old in text, (truth.name, old)
                text = text.replace(old, new)
            server.write_text(text)
            port = free_port()
            got = run(o, truth, [o.python, str(server), str(port)], port, f"/tmp/unseen4-{truth.name}-{len(said)}.out", o.seconds or 8)
        said.append(got.get("error") or f"{got['rate']:.2f}/s p50 {got['p50'] or 0:.3f} s failed {got.get('failed', 0)} left {got.get('left', 0)}")
    print(f"{truth.name:14} {' | repaired '.join(said)}  load {os.getloadavg()[0]:.1f}", flush=True)


def judge(o, to):
    screen = subprocess.run([o.stoker, "diagnose", str(to)], capture_output=True, text=True)
    to.with_suffix(".screen.txt").write_text(screen.stdout + screen.stderr)
    done = subprocess.run([o.stoker, "diagnose", "--json", str(to)], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode in (0, 3) else {"error": done.stderr.strip()[:300]}


def score(truth, verdict, meant):
    """The class; whether class, line and fix are right; whether advice is harmful; the lines named."""
    said = verdict.get("verdict", {}).get("class") or "?"
    plan = verdict.get("plan") or []
    text = json.dumps(plan, ensure_ascii=False)
    right = any(said == c or said.startswith(c + "/") for c in truth.classes)
    lines, _ = named_lines(verdict)
    line = not truth.line or bool(lines & meant)
    harmful = any(word in text for word in LOADER)
    if truth.fix:
        fix = bool(plan) and re.search(truth.fix, text) is not None
        harmful |= bool(re.search(truth.harmful, text)) or bool(plan) and not right and not fix
    else:
        fix = all(truth.allowed and re.search(truth.allowed, json.dumps(p)) for p in plan)
        harmful |= not fix
    return said, right, line, fix, harmful, sorted(lines)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*", help="situations; all, if none is named")
    p.add_argument("--python", default=sys.executable)
    p.add_argument("--stoker", default=str(ROOT / "bin/stoker"))
    p.add_argument("--keep", default="", help="folder of the recordings")
    p.add_argument("--again", default="", help="folder of recordings to judge again")
    p.add_argument("--prove", action="store_true", help="run each server as it is, and repaired, without Stoker")
    p.add_argument("--seconds", type=float, default=0, help="of load, with --prove")
    p.add_argument("--trace", action="store_true", help="let observe take its trace")
    o = p.parse_args()
    if unknown := set(o.names) - {t.name for t in TRUTHS}:
        p.error(f"no such situation: {', '.join(sorted(unknown))}")
    wanted = [t for t in TRUTHS if not o.names or t.name in o.names]
    if o.prove:
        return [prove(o, t) for t in wanted] and 0
    folder = Path(o.again or o.keep or "stoker-runs/unseen4").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    sums = dict.fromkeys(("class", "line", "fix", "harmful"), 0)
    count = failed = 0
    for t in wanted:
        to = folder / f"{t.name}.jsonl.gz"
        meant = to.with_suffix(".lines.json")  # the server may be edited when it is judged again
        load = {} if o.again else record(o, t, to)
        if not to.exists() or load.get("error") or o.again and not meant.exists():
            failed += 1
            print(f"{t.name:14} FAILED {load.get('error', 'no recording')}", flush=True)
            continue
        if load:
            meant.write_text(json.dumps(sorted(causes(t))))
        said, right, line, fix, harmful, found = score(t, judge(o, to), set(json.loads(meant.read_text())))
        count += 1
        for name, is_so in (("class", right), ("line", right and line), ("fix", right and fix), ("harmful", harmful)):
            sums[name] += is_so
        rate = f"{load['rate']:.1f}/s p50 {load['p50'] or 0:.2f} s" if load else ""
        print(f"{t.name:14} {said:22} {'right' if right else 'WRONG, ' + '|'.join(t.classes):30} {'' if line else 'NO LINE':8}"
              f"{'' if fix else 'NO FIX':7} {'HARMFUL' if harmful else '':8}{','.join(found)[:60]:60} {rate}", flush=True)
    print(f"{count} situations, {failed} not recorded: class right {sums['class']}, with its line {sums['line']}, with its fix {sums['fix']}, "
          f"harmful {sums['harmful']}; load {os.getloadavg()[0]:.0f}")
    return 0 if count and not failed and sums["harmful"] == 0 and min(sums["line"], sums["fix"]) >= 0.9 * count else 1


if __name__ == "__main__":
    sys.exit(main())
