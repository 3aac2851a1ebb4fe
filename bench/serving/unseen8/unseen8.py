#!/usr/bin/env python3
"""An eighth exam of servers: truths by somebody who had not read the rules, frozen before any answer was seen.

    bench/serving/unseen8/unseen8.py --python ~/serve/bin/python --vllm ~/vllm/bin --keep FOLDER [NAME ...]
    bench/serving/unseen8/unseen8.py --again FOLDER [NAME ...]              # judge kept recordings with another bin/stoker
    bench/serving/unseen8/unseen8.py --python ~/serve/bin/python --vllm ~/vllm/bin --prove     # no Stoker: as it is, and repaired

PYTHON has what ../unseen7/unseen7.py asks for, and pyzmq; VLLM is a folder of vLLM's programs. The runner is that of
../unseen4/unseen4.py with vLLM besides, the judge that of ../unseen6/unseen6.py, and no server is of an exam before. No line of a
server marks its cause: `line` matches it. Numbers behind the names of repositories are those of public issues and pull requests
that report it.
"""

import dataclasses
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent / "unseen6"), str(FOLDER.parent / "unseen7")]

import unseen6
from unseen6 import APART, DEVICE, HOST, HOSTS, IDLE, MORE_WAIT, ONE, TOKENS, WAITING, WAITS, unseen4
from unseen7 import ONCE

HERE, ROOT, VLLM = unseen4.HERE, unseen4.ROOT, Path("vllm")
SAME_TIME = r"concurren|at (once|the same time)|in parallel|overlap|asynchron"


@dataclasses.dataclass(frozen=True)
class Case(unseen4.Truth):
    flags: str = ""  # of vllm serve, which runs instead of `server`
    passes: str = ""  # seconds of a pass of vLLM's emulated device, and of each of its requests
    then: tuple = ()  # (field, value) ... of this truth, once repaired


Truth = functools.partial(Case, seconds=22, harmful=HOSTS)

TRUTHS = (
    # FastAPI.
    Truth(  # feast-dev/feast 6682, stytchauth/stytch-python 312
        "keys", "kites.py", "--clients 3", (WAITS,),
        "FastAPI: a dependency loads the provider's signing keys for each request, 110 ms, and the event loop waits for them.",
        fix=rf"(?i)urlopen|SigningKeys|signing keys|\bkeys\b|jwks|httpx|aiohttp|\bawait|to_thread|plain def|off the (event )?loop|{SAME_TIME}|"
            rf"ahead|background|{ONCE}",
        line=r"urlopen\(|json\.load\(|def __init__|SigningKeys\(KEYS\)", service=0.110, harmful=WAITING, path="/kites",
        repair=(("class SigningKeys:", "@__import__('functools').cache\nclass SigningKeys:"),),
    ),
    Truth(  # penta2himajin/qwisp 130, vllm-project/vllm 121
        "whole-text", "fables.py", "--clients 2", (TOKENS, HOST),
        "FastAPI, a stream: after each token the tokenizer makes text of all 12,000 tokens again, and what is new is cut off its end.",
        fix=rf"(?i)decode|detokeni|tokeni[sz]|increment|last (few )?tokens|new tokens|all (the )?(tokens|ids)|\bdelta|{ONCE}|{APART}",
        line=r"tokenizer\.decode\(", path="/fables",
        repair=(("            text = tokenizer.decode(ids, skip_special_tokens=True)\n", "            text = said + tokenizer.decode(ids[-1:])\n"),),
    ),
    Truth(  # huggingface/diffusers 2266, 11872
        "to-and-fro", "mosaics.py", "--clients 2", ("transfer-bound",),
        "FastAPI: a pipeline of 3.6 GB is moved to the device for each request, from pageable memory, and away from it afterwards.",
        fix=rf"(?i)pinned|pin_memory|pageable|non_blocking|(keep|leave|stay|hold|remain)\w*[^.\"]{{0,40}}(in|on) the (device|GPU)|resident|"
            rf"pipeline\.to|\.to\(|to_device|prefetch|each request|fewer bytes|less to copy|{ONCE}",
        line=r"device\(\)\.copy\(|def to|part\.to\(|pipeline\.to\(\"cuda\"\)", path="/mosaics",
        repair=(('            pipeline.to("cpu")\n', "            pass\n"),),
    ),
    # vLLM.
    Truth(  # vllm-project/vllm 3248, 7353
        "llm-class", "slogans.py", "--clients 8", (ONE,),
        "FastAPI around vLLM's LLM: eight requests wait for a lock, and each has llm.generate for itself, a batch of one.",
        fix=r"(?i)AsyncLLM|vllm serve|\bbatch|together|several prompts|(list|more) (of )?prompts|continuous|concurren|\block\b|one at a time|generate\(",
        harmful=rf"{HOSTS}|{MORE_WAIT}", passes="0.040 0.0005", path="/slogans", seconds=26,
        repair=(("            return llm.generate([prompt], how, use_tqdm=False)[0].outputs[0].text",
                 "            pass\n"
                 "        answer = concurrent.futures.Future()\n"
                 "        asked.put((prompt, answer))\n"
                 "        return answer.result()\n\n"
                 "    def work():\n"
                 "        while True:\n"
                 "            batch = [asked.get()]\n"
                 "            while not asked.empty():\n"
                 "                batch.append(asked.get())\n"
                 "            for (_, answer), out in zip(batch, llm.generate([p for p, _ in batch], how, use_tqdm=False)):\n"
                 "                answer.set_result(out.outputs[0].text)\n\n"
                 "    asked = queue.Queue()\n"
                 "    threading.Thread(target=work, daemon=True).start()"),
                ("import threading\n", "import concurrent.futures\nimport queue\nimport threading\n")),
    ),
    Truth(  # vllm-project/vllm 4699, 54050
        "logprobs", "vllm", "--clients 8", (HOST, TOKENS),
        "vLLM: each token comes with the log-probabilities of 400 others, and the server makes text of each of them.",
        fix=rf"(?i)logprob|log.probabilit|detokeni|tokeni[sz]|decod|api.server|convert_ids|output.processor|{APART}",
        flags="--max-logprobs 400", passes="0.020 0.0005", path="/v1/completions", seconds=26,
        body=json.dumps({"model": "tiny", "prompt": "quick " * 8, "max_tokens": 24, "ignore_eos": True, "logprobs": 400}),
        then=(("body", json.dumps({"model": "tiny", "prompt": "quick " * 8, "max_tokens": 24, "ignore_eos": True})),),
    ),
    # LitServe, Ray Serve, BentoML.
    Truth(  # Lightning-AI/LitServe's documents: a Logger has a process of its own, a Callback has not
        "callback", "orchids.py", "--clients 4", (WAITS,),
        "LitServe: after each prediction a callback posts to a collector, 80 ms, in the process that has the device.",
        fix=rf"(?i)session\.post|\bpost(s|ed|ing)?\b|callback|on_after_predict|Logger|collector|a thread|in threads|{SAME_TIME}|after the answer|"
            rf"background|outside|ahead|\bqueue",
        line=r"session\.post\(|def on_after_predict", service=0.080, harmful=WAITING,
        repair=(("callbacks=[Counts()]", "callbacks=[]"),),
    ),
    Truth(  # ray-project/ray 43288, 43840
        "five-ongoing", "olives.py", "--clients 16", (WAITS, ONE),
        "Ray Serve: a batch of 16 waits 400 ms for 11 more, but max_ongoing_requests is five, as it is by default, so none comes.",
        fix=r"(?i)max_ongoing_requests|batch_wait_timeout|max_batch_size|(shorter|lower|smaller|reduce|less|shorten)[^.\"]{0,40}(wait|timeout|window)|"
            r"without waiting|\bongoing",
        line=r"@serve\.batch\(|@serve\.deployment\(|await self\.sort\(|def sort", harmful=WAITING, path="/olives", seconds=28,
        repair=(('ray_actor_options={"num_cpus": 0.2})', 'ray_actor_options={"num_cpus": 0.2}, max_ongoing_requests=32)'),),
    ),
    Truth(  # ray-project/ray 7262, 40328
        "ray-get", "anchors.py", "--clients 3", (WAITS,),
        "Ray Serve: a coroutine calls ray.get for what an actor asks of a register, 120 ms, and the replica does nothing else meanwhile.",
        fix=rf"(?i)ray\.get|\bawait|register|\bship\b|off the (event )?loop|to_thread|executor|{SAME_TIME}|ahead|{ONCE}",
        line=r"ray\.get\(|self\.session\.get\(|def ship", service=0.120, harmful=WAITING, path="/anchors", seconds=28,
        repair=(("ship = ray.get(self.register.ship.remote(asked.get(\"ship\", 9074729)))",
                 "ship = await self.register.ship.remote(asked.get(\"ship\", 9074729))"),),
    ),
    Truth(  # bentoml/BentoML 4131, SeldonIO/MLServer 926
        "arrays", "quakes.py", "--clients 3", (HOST,),
        "BentoML: an array of 60,000 numbers comes as JSON and goes as JSON, and is made of lists and into lists.",
        fix=rf"(?i)\bjson|ndarray|numpy|serializ|pars(e|ing)|pydantic|tolist|encod|decod|\bbytes\b|binary|\blists?\b|{APART}",
        body="floats:60000", seconds=24, then=(("body", "floats:600"),),
    ),
    # Flask.
    Truth(  # benoitc/gunicorn 2734, freelawproject/courtlistener 2585
        "uploads", "fossils.py", "", (WAITS,),
        "Flask, gunicorn: the only worker, a synchronous one, reads a photo from a phone for half a second, and the others wait for it.",
        fix=rf"(?i)gthread|gevent|worker.class|\bthreads?\b|(more|two|several) (worker|process)|nginx|proxy|buffer|get_data|upload|slow client|{SAME_TIME}",
        line=r"request\.get_data\(\)|def fossil", harmful=WAITING, client="unseen8/clients.py uploads --path /fossils --clients 3",
        repair=(('"-w", "1",', '"-w", "1", "-k", "gthread", "--threads", "16",'),),
    ),
    Truth(  # OpenMathLib/OpenBLAS 731, buildingjoshbetter/TrueMemory 359
        "blas", "violins.py", "--clients 3", (HOST,),
        "Flask, waitress: NumPy whitens six notes on the CPU, with six threads of OpenBLAS on two cores for each of three requests.",
        fix=rf"(?i)OPENBLAS|OMP_NUM|BLAS|threadpool|\bthreads\b|\bcores?\b|eigh|linalg|whiten|vectori[sz]|on the (GPU|device)|{ONCE}|{APART}",
        line=r"np\.linalg\.eigh\(|def whiten|whiten\(note\)|OPENBLAS_NUM_THREADS",
        harmful=rf"{HOSTS}|(?i:\b(more|raise|increase|add)( the)?( number of)? threads\b)", path="/violins",
        repair=(('"OPENBLAS_NUM_THREADS"] = "6"', '"OPENBLAS_NUM_THREADS"] = "1"'),),
    ),
    # Starlette, Tornado, aiohttp, ZeroMQ.
    Truth(  # huggingface/transformers 35275; its documents' own example lists the vocabulary
        "allowed", "cocktails.py", "--clients 2", (HOST, TOKENS),
        "Starlette, transformers' generate: for each beam of each token, prefix_allowed_tokens_fn lists 24,000 tokens in Python.",
        fix=rf"(?i)allowed|prefix|constrain|\bmask|vocabulary|logits.?processor|vectori[sz]|{ONCE}|{APART}",
        line=r"def allowed|mixer\.generate\(|prefix_allowed_tokens_fn=", path="/cocktails",
        repair=(("prefix_allowed_tokens_fn=allowed)", ")"),),
    ),
    Truth(  # fatchord/WaveRNN 188, NVIDIA/tacotron2 183
        "samples", "lullabies.py", "--clients 2", ("launch-bound", HOST),
        "Tornado: each of 900 samples is six kernels of 2 to 6 us, and the host takes several times as long to launch them.",
        fix=r"(?i)graph|torch\.compile|fus(e|ed|ing)\b|fewer (launches|kernels)|larger kernels|launch(es|ed)? (ahead|together)|\bbatch",
        path="/lullabies",
        repair=(("            for cell in self.cells:\n                x = cell(x)\n            sound.append(x)\n        return torch.stack(sound)",
                 "            pass\n        device().launch(SAMPLES * 25e-6, \"graph\")\n        return x.expand(SAMPLES, 1, 8)"),),
    ),
    Truth(  # chriguschneider/hass-meteoswiss-radar 135
        "kept", "pollen.py", "--clients 3", (HOST,),
        "aiohttp: each map of 230,000 numbers is compressed and written to a file, in the event loop and before the answer.",
        fix=rf"(?i)savez|compress|zlib|\bzip|np\.save|\bkeep\(|archive|writ(e|es|ing|ten)\b|\bfiles?\b|less often|not (for|in|after) each|{APART}",
        line=r"np\.savez_compressed\(|def keep|\.keep\(asked", path="/pollen",
        repair=(("        np.savez_compressed(file", "        dict(file=file"),),
    ),
    Truth(  # RabbitMQ's documents: publisher confirms, one by one
        "confirms", "glaciers.py", "", (WAITS,),
        "ZeroMQ: a worker takes the next job once a store has confirmed the last result, 90 ms later, though jobs lie ready.",
        fix=rf"(?i)confirm|wait_for|recv_multipart|\bstore\b|stored|acknowledg|prefetch|{SAME_TIME}|ahead|next job|background|a thread|in threads|"
            rf"batch(es)? of results|outside|without waiting",
        line=r"recv_multipart\(|def wait_for|def store|self\.wait_for\(b\"stored\"\)|queue\.store\(", harmful=WAITING,
        client="unseen8/clients.py stations", repair=(("        self.wait_for(b\"stored\")\n", ""),),
    ),
    # Healthy, or idle for no fault.
    Truth(
        "comets", "comets.py", "--clients 24", (DEVICE,),
        "LitServe: batches of eight of 24 requests, 420 ms each, one after another: healthy.",
        harmful=WAITING, seconds=26,
    ),
    Truth(
        "sonnets", "sonnets.py", "--clients 12", (DEVICE,),
        "aiohttp, the continuous batching of transformers: 12 at once, 200 ms a token, one pass after another: healthy.",
        harmful=WAITING, path="/sonnets", seconds=28,
    ),
    Truth(
        "butler", "butler.py", "", IDLE,
        "Starlette, a websocket: two people talk, each hears its answer of 100 ms for 1.6 s before it goes on: healthy.",
        harmful=WAITING, client="unseen8/clients.py talkers --path /talk --clients 2",
    ),
)


def prepare(o, truth, port, server=None):
    """The server's command, and its environment in its place."""
    env = dict(os.environ, STOKER_EMULATE="1", PYTHONPATH=f"{ROOT / 'python'}:{HERE / 'unseen'}", PYTHONUNBUFFERED="1",
               RAY_DEDUP_LOGS="0", BENTOML_DO_NOT_TRACK="1", SERVICE_URL=f"http://127.0.0.1:{port + 1}")
    command = [o.python, str(server or FOLDER / truth.server), str(port)]
    if truth.passes:
        model = Path(o.keep or tempfile.gettempdir()).resolve() / "tiny"
        if not model.exists():
            subprocess.run([VLLM / "python", str(HERE / "tiny.py"), str(model)], check=True)
        spent = dict(zip(("STOKER_BENCH_PASS", "STOKER_BENCH_REQUEST"), truth.passes.split()))
        env.update(VLLM_CPU_KVCACHE_SPACE="1", VLLM_NO_USAGE_STATS="1", HF_HUB_OFFLINE="1", MODEL=str(model),
                   PATH=f"{VLLM}:{os.environ['PATH']}", **spent)
        env["PYTHONPATH"] += f":{HERE}"
        command[0] = str(VLLM / "python")
        if truth.flags:
            command = [str(VLLM / "vllm"), "serve", str(model), "--served-model-name", "tiny", "--load-format", "dummy", "--dtype", "float32",
                       "--enforce-eager", "--port", str(port), "--worker-cls", "engine.Worker", *truth.flags.split()]
    unseen4.environment = lambda *_: env
    return command


def record(o, truth, to):
    port = unseen4.free_port()
    to.unlink(missing_ok=True)
    command = [o.stoker, "observe", *([] if o.trace else ["--no-trace"]), "-o", str(to), "--", *prepare(o, truth, port)]
    return unseen4.run(o, truth, command, port, to.with_suffix(".out"), truth.seconds)


def prove(o, truth):
    """Requests a second and the median, of the server as it is and repaired, unobserved."""
    said = []
    for repaired in (False, True)[: 1 + bool(truth.repair or truth.then)]:
        with tempfile.TemporaryDirectory() as folder:
            server = None
            if truth.server != "vllm":
                shutil.copytree(FOLDER, folder, dirs_exist_ok=True)
                server = Path(folder) / truth.server
                text = server.read_text()
                for old, new in truth.repair if repaired else ():
                    assert old in text, (truth.name, old)
                    text = text.replace(old, new)
                server.write_text(text)
            case, port = dataclasses.replace(truth, **dict(truth.then if repaired else ())), unseen4.free_port()
            out = Path(tempfile.gettempdir()) / f"unseen8-{truth.name}-{len(said)}.out"
            got = unseen4.run(o, case, prepare(o, case, port, server), port, out, o.seconds or 8)
        said.append(got.get("error") or f"{got['rate']:.2f}/s p50 {got['p50'] or 0:.3f} s failed {got.get('failed', 0)} left {got.get('left', 0)}")
    print(f"{truth.name:14} {' | repaired '.join(said)}  load {os.getloadavg()[0]:.1f}", flush=True)


if __name__ == "__main__":
    if "--vllm" in sys.argv:
        at = sys.argv.index("--vllm")
        VLLM = Path(sys.argv[at + 1]).resolve()
        del sys.argv[at : at + 2]
    unseen4.__doc__, unseen4.FOLDER, unseen4.TRUTHS, unseen4.score = __doc__, FOLDER, TRUTHS, unseen6.score
    unseen4.record, unseen4.prove = record, prove
    sys.exit(unseen4.main())
