#!/usr/bin/env python3
"""A sixth exam of servers: truths by somebody who had not read the rules, frozen before any answer was seen.

    bench/serving/unseen6/unseen6.py --python ~/serve/bin/python --keep FOLDER [NAME ...]
    bench/serving/unseen6/unseen6.py --again FOLDER [NAME ...]              # judge kept recordings with another bin/stoker
    bench/serving/unseen6/unseen6.py --python ~/serve/bin/python --prove    # no Stoker: each server as it is, and repaired

PYTHON has what ../unseen4/unseen4.py asks for, and httpx, aiosqlite, jsonschema, prometheus_client and opentelemetry-sdk. The
runner is that of ../unseen4/unseen4.py; of its servers, and those of ../unseen5, none is here. No line of a server marks its
cause: a line is known by its text, and a repair edits a copy. Numbers behind the names of repositories are those of public issues
and pull requests that report the cause.

Class, line and fix are judged as there. Advice is harmful only if who follows it is worse off: it costs what helps nothing
(HARDWARE), makes requests wait (WAITING), changes what the model answers (RESULTS), or takes away what the server needs. Advice
that only misses has no fix, and no harm. A sentence that advises against something does not advise it.
"""

import functools
import json
import re
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "unseen4"))

import unseen4
from unseen4 import DEVICE, HARDWARE, HOST, IDLE, ONE, TOKENS, WAITS

#: Work of the host goes elsewhere: to other processes or threads, or away from the path of the request.
APART = (r"(another|other|own|more|several|separate|worker|pool of) (worker )?process(es)?\b|process pool|ProcessPool|to_thread|"
         r"run_in_executor|off the (event )?loop|overlap|in parallel|ahead of|(in|to) the background|after the answer")
#: Another answer of the model, or another input to it.
RESULTS = r"(?i:\b(fp16|float16|half precision|bf16|bfloat16|int8|quanti[sz]\w+|smaller model|distil\w*|fewer (tokens|steps|layers))\b)"
#: Longer waits for a batch, or larger batches, and not a sentence that only says who waits.
MORE_WAIT = (r"(?i:\b(raise|increase|enlarge|larger|longer) (the |its |a |each )?([\w-]+ ){0,2}(window|wait|timeout|delay)s?\b|"
             r"\b(raise|increase) `?\w*(wait|timeout|latency|delay)\w*)")
GATHER = rf"{MORE_WAIT}|(?i:\b(raise|increase|enlarge|larger|bigger) (the |its |a |each )?([\w-]+ ){{0,2}}`?\w*batch\w*)"
HOSTS = f"{HARDWARE}|{RESULTS}"
#: And waiting at the server, where waiting is the cause or where nothing is wrong.
WAITING = f"{HOSTS}|{GATHER}"
Truth = functools.partial(unseen4.Truth, seconds=22, harmful=HOSTS)

TRUTHS = (
    # FastAPI.
    Truth(  # encode/httpx 3627
        "client-each", "concierge.py", "--clients 3", (HOST,),
        "FastAPI: each of two questions to another service makes an httpx.AsyncClient, which reads all certificates in the event loop.",
        fix=rf"(?i)AsyncClient|one client|same client|(keep|share|reuse|make|creat|open)\w*[^.\"]{{0,40}}\b(client|session|connection|context)\b|"
            rf"(?<!at )\bonce\b|"
            rf"certificat|\bssl\b|verify=|{APART}",
        line=r"httpx\.AsyncClient\(|def ask_desk|ask_desk\(", service=0.002, path="/concierge",
        repair=(("\napp = FastAPI()", "\napp = FastAPI()\nclient = httpx.AsyncClient(timeout=5)"),
                ("    async with httpx.AsyncClient(timeout=5) as client:\n", "    if True:\n")),
    ),
    Truth(  # psutil's documents: with an interval the call blocks
        "cpu-percent", "doorman.py", "--clients 3", (WAITS,),
        "FastAPI: a dependency asks psutil for the CPU's use of the next 100 ms, and the event loop sleeps for them.",
        fix=r"(?i)cpu_percent|interval|psutil|tell_load|sleep|\b(a|own|other|another) thread\b|to_thread|background|off the (event )?loop|plain def",
        line=r"cpu_percent\(|def tell_load", harmful=WAITING, path="/spam",
        repair=(("interval=0.1", "interval=None"),),
    ),
    Truth(  # huggingface/transformers 40520, huggingface/smolagents 1703
        "stop-strings", "letters.py", "--clients 2", (HOST, TOKENS),
        "FastAPI, transformers' generate: a stop string holds the customer's name, so its table over 12,000 tokens is made for each request.",
        fix=rf"(?i)stop_?string|stopping|StopString|vocab|\bcach(e|ed|ing) (it|its|the|them|what|a)\b|(?<!at )\bonce\b|"
            rf"keep[^.\"]{{0,20}}(table|string|criteria)|same (string|object|criteria)|{APART}",
        line=r"model\.generate\(|stop_strings=", path="/letters",
        repair=(('tokenizer=tokenizer, stop_strings=[f"Dear {name}", "Yours sincerely"]', "stopping_criteria=ends"),
                ("\ncustomers = ", "\nfrom transformers import StoppingCriteriaList, StopStringCriteria\n"
                                   "ends = StoppingCriteriaList([StopStringCriteria(tokenizer, ['Dear customer', 'Yours sincerely'])])\ncustomers = ")),
    ),
    Truth(  # open-webui/open-webui 13031
        "forty-threads", "tickets.py", "", (WAITS,),
        "FastAPI: 56 browsers ask for news, each holds one of the pool's 40 threads for 1.5 s, and the model's requests wait for a thread.",
        fix=r"(?i)sleep|news|poll|total_tokens|limiter|40 threads|thread ?pool|(more|larger|free|own) (pool|threads|limit)|\basync(io)?\b|await|"
            r"a condition|an? event\b(?! loop)|notif",
        line=r"time\.sleep\(0\.05\)|def news|news_of\(", harmful=WAITING,
        client="unseen6/clients.py polls --path /tickets --clients 3",
        repair=(("def news_of(", "async def news_of("), ("        time.sleep(0.05)", "        await __import__('asyncio').sleep(0.05)"),
                ("def news(ticket", "async def news(ticket"), ("return news_of", "return await news_of")),
    ),
    # Starlette.
    Truth(  # omnilib/aiosqlite 97
        "row-by-row", "basket.py", "--clients 3", (HOST, WAITS),
        "Starlette: features of 300 articles are asked one by one of aiosqlite, each through another thread and back.",
        fix=rf"(?i)one (query|statement|call|select|question|trip)|executemany|where id in|\bin \(|batch(ed)? (query|quer|look)|rows at once|"
            rf"all at once|together|one by one|each article|join|cache|"
            rf"aiosqlite|sqlite|features\.of|\bquer(y|ies)\b|concurren|gather\(|{APART}",
        line=r"self\.db\.execute\(\"select|rows\.fetchone|features\.of\(|async def of", path="/recommend",
        repair=(("    for article in articles:\n        rows.append(await features.of(article))\n",
                 "    marks = ','.join('?' * len(articles))\n"
                 "    async with features.db.execute(f'select price, sold, stock from article where id in ({marks})', articles) as found:\n"
                 "        rows = await found.fetchall()\n"),),
    ),
    Truth(  # prometheus/client_python 639
        "metrics-file", "energy.py", "--clients 3", (HOST,),
        "Starlette: after each forecast all metrics of 400 houses are written as text to a file.",
        fix=rf"(?i)write_to_textfile|keep_metrics|prometheus|registry|series|\blabels?\b|writ\w+[^.\"]{{0,30}}(metrics|file)|less often|"
            rf"not (for|in|after) each|every (few|\d+)|{APART}",
        line=r"write_to_textfile\(|keep_metrics\(", path="/power",
        repair=(("HOUSES = 400", "HOUSES = 4"),),
    ),
    # Flask, http.server.
    Truth(  # open-telemetry/opentelemetry-python 3660
        "spans", "receipts.py", "--clients 3", (WAITS,),
        "Flask, waitress: SimpleSpanProcessor sends each of five spans when it ends, and the request waits 25 ms for each.",
        fix=r"(?i)span|BatchSpanProcessor|exporter|export\(|collector|telemetry|urlopen|background|in (a|another) thread|"
            r"batch(es)? of (spans|posts)|after the answer|overlap|asynchron",
        line=r"urlopen\(|def export|start_as_current_span\(", service=0.025, harmful=HOSTS + "|" + MORE_WAIT, path="/receipts",
        repair=(("SimpleSpanProcessor(Collector())",
                 "__import__('opentelemetry.sdk.trace.export', fromlist=['x']).BatchSpanProcessor(Collector())"),),
    ),
    Truth(  # benoitc/gunicorn 940, 2417
        "max-requests", "plates.py", "", (HOST, "start-up", "cpu-bound"),
        "Flask, gunicorn: --max-requests 12 ends the only worker after 12 requests, and the next imports PyTorch and makes the model.",
        fix=r"(?i)max.requests|restart|preload|re-?spawn|new (worker|process)|(worker|process)(es)? (ends?|starts?|dies|lives?)|\bimport|"
            r"start-up|(?<!at )\bonce\b|more workers|two workers|"
            r"load\w*[^.\"]{0,40}(model|again)",
        line=r"^import torch|^from parts|^model = |def __init__|\"--max-requests\"", client="unseen6/clients.py fresh --path /plates --clients 3",
        repair=(('"--max-requests", "12"', '"--max-requests", "0"'),), seconds=28,
    ),
    Truth(  # the re module keeps 512 expressions
        "rules", "comments.py", "--clients 3", (HOST,),
        "http.server: 1,600 expressions are more than the 512 that re keeps, so each is compiled again for each comment.",
        fix=rf"(?i)re\.(search|compile)|(?<!torch\.)compil|regular expression|expressions|\bregex|broken_rules|\brules\b|(?<!at )\bonce\b|"
            rf"{APART}", line=r"re\.search\(|def broken_rules|broken_rules\(",
        path="/comments", repair=(("    return [n for n, rule in enumerate(RULES) if re.search(rule, comment, re.IGNORECASE)]",
                                   "    return [n for n, rule in enumerate(COMPILED) if rule.search(comment)]"),
                                  ("\nmodel = Net", "\nCOMPILED = [re.compile(rule, re.IGNORECASE) for rule in RULES]\nmodel = Net")),
    ),
    # Tornado.
    Truth(
        "ticks", "bids.py", "--clients 6", (WAITS,),
        "Tornado: a periodic callback of 220 ms alone sends what has come to the device, whose pass takes 23 ms.",
        fix=r"(?i)PeriodicCallback|\bTICK\b|\bticks?\b|flush|\bperiod(ic)?\b|"
            r"(shorter|smaller|lower|less)[^.\"]{0,30}(window|wait|interval|timeout|delay|time)|as soon as|"
            r"when the (device|GPU) is (free|idle)|batch[^.\"]{0,40}(at once|sooner|earlier|waits|without)",
        line=r"PeriodicCallback\(|def flush|await self\.auction\.bid|self\.open\.append|def bid", harmful=WAITING, path="/bids",
        repair=(("TICK, MOST = 220", "TICK, MOST = 5"),),
    ),
    Truth(  # the documents of tracemalloc name the cost
        "leak-hunt", "leaks.py", "--clients 3", (HOST,),
        "Tornado: after each answer tracemalloc takes a snapshot of all that is allocated, and compares it with the one before.",
        fix=rf"(?i)tracemalloc|snapshot|compare_to|\blook\(|leaks|on_finish|less often|not (for|in|after) each|every (few|\d+)|{APART}",
        line=r"take_snapshot\(|compare_to\(|def look|\.look\(|def on_finish", path="/leaves",
        repair=(("        self.leaks.look()", "        pass"),),
    ),
    # aiohttp.
    Truth(  # python-jsonschema/jsonschema 277
        "schema", "tours.py", "--clients 3", (HOST,),
        "aiohttp: jsonschema checks an order of 2,000 stops in Python, in the event loop.",
        fix=rf"(?i)jsonschema|schema|validat|fastjsonschema|pydantic|msgspec|compiled|{APART}", line=r"check\.validate\(", path="/tours",
        repair=(("    check.validate(tour)\n", ""),),
    ),
    Truth(
        "crops", "parcels.py", "--clients 2", (ONE,),
        "aiohttp: one model finds 16 labels, and another reads them in 16 passes.",
        fix=r"(?i)batch|stack|together|one pass|concat|at once|\bcrops\b", harmful=rf"{HOSTS}|{MORE_WAIT}", path="/labels",
        repair=(("        for crop in crops:\n            out = infer(self.reader, crop[None])\n            labels.append",
                 "        for out in infer(self.reader, torch.stack(crops)):\n            labels.append"),),
    ),
    # websockets, gRPC.
    Truth(  # pytorch/TensorRT 4598, vllm-project/vllm-ascend 15552
        "debug-text", "whales.py", "", (HOST,),
        "websockets: eight tensors of 990 numbers become text for log.debug, whose level is off, for each second of sound.",
        fix=rf"(?i)log\.debug|\bdebug|logging|f-string|\bformat|isEnabledFor|%s|\blog\b|repr|tensor_str|_str\b|print(ing|s)? (of )?(a )?tensor|"
            rf"text of|{APART}",
        line=r"log\.debug\(|def add|buoy\.add\(",
        client="unseen3/clients.py ws --clients 2",
        repair=(('log.debug(f"{age} seconds ago: {level}")', 'log.debug("%s seconds ago: %s", age, level)'),),
    ),
    Truth(  # transformers' offloaded cache
        "cache-offloaded", "novels.py", "--clients 3", ("transfer-bound",),
        "gRPC: keys and values of 24 layers are in pageable memory of the host, and go to the device layer by layer for each token.",
        fix=r"(?i)pinned|pin_memory|pageable|non_blocking|(keep|leave|store|hold)[^.\"]{0,40}(in|on) the (device|GPU)|prefetch|overlap|"
            r"\bstream\b|ahead|to_device|"
            r"\b(cop(y|ies)|transfers?|move)\b[^.\"]{0,40}(once|smaller|fewer|less)|fewer bytes|less to copy",
        line=r"device\(\)\.copy\(|def to_device|to_device\(", client="unseen4/clients.py rpc --method /books.Novels/Continue",
        harmful=RESULTS, repair=(("PER_LAYER = 24 << 20", "PER_LAYER = 24 << 10"),),
    ),
    # LitServe, BentoML.
    Truth(  # KempnerInstitute/KempnerForge 171, QwenLM/Qwen3-VL 131
        "all-frames", "clips.py", "--clients 3", (HOST,),
        "LitServe: all 300 frames of a clip are decoded in Python's loop, and the model gets eight of them.",
        fix=rf"(?i)video|decod|VideoCapture|video\.read|frames|seek|CAP_PROP|grab|{APART}", line=r"video\.read\(|def frames|self\.frames\(",
        path="/predict",
        repair=(("            frames.append(frame)\n",
                 "            frames.append(frame)\n            if len(frames) == LOOKED_AT:\n                break\n"),),
    ),
    Truth(  # bentoml/BentoML 4386
        "threads-of-bento", "bookings.py", "--clients 5", (WAITS,),
        "BentoML: an API that is no coroutine has one thread, and for 90 ms of each request it waits for the weather.",
        fix=r"(?i)threads|workers|\basync(io)?\b|await|aiohttp|httpx|concurren|at (once|the same time)|overlap|cache|session\.get|\bweather\b|ahead",
        line=r"session\.get\(|def weather|self\.weather\(", service=0.090, harmful=WAITING,
        repair=(("traffic={\"concurrency\": 32}", "threads=8, traffic={\"concurrency\": 32}"),), seconds=24,
    ),
    # Healthy, or idle for no fault.
    Truth(
        "choir", "choir.py", "", (DEVICE,),
        "websockets: batches of six of 18 singers, 360 ms each, one after another: healthy.",
        harmful=WAITING, client="unseen3/clients.py ws --clients 18",
    ),
    Truth(
        "tiles", "tiles.py", "--clients 3", (DEVICE,),
        "Flask, waitress: 20 steps of 19 ms are launched together, and the PNG is made while the next tile is drawn: healthy.",
        harmful=WAITING, path="/tiles",
    ),
    Truth(
        "tides", "tides.py", "--poisson 3", IDLE,
        "FastAPI: three requests a second of 57 ms, a sixth of the device, and all are answered at once: healthy.",
        harmful=WAITING, path="/tides",
    ),
)


def advised(pattern, text):
    """Whether a sentence advises what `pattern` matches, and does not advise against it."""
    for match in re.finditer(pattern, text):
        before = re.split(r"[.;:\"]", text[: match.start()])[-1]
        if not re.search(r"(?i)\b(not|no|never|without|nor|cannot|rather than|instead of|nothing|before)\b", before):
            return True
    return False


def score(truth, verdict, meant):
    """The class; whether class, line and fix are right; whether advice is harmful; the lines named."""
    said = verdict.get("verdict", {}).get("class") or "?"
    plan = verdict.get("plan") or []
    text = json.dumps(plan, ensure_ascii=False)
    right = any(said == c or said.startswith(c + "/") for c in truth.classes)
    lines, _ = unseen4.named_lines(verdict)
    line = not truth.line or bool(lines & meant)
    if truth.fix:
        fix = bool(plan) and re.search(truth.fix, text) is not None
    else:
        fix = all(truth.allowed and re.search(truth.allowed, json.dumps(p)) for p in plan)
    return said, right, line, fix, advised(truth.harmful, text), sorted(lines)


if __name__ == "__main__":
    unseen4.__doc__, unseen4.FOLDER, unseen4.TRUTHS, unseen4.score = __doc__, FOLDER, TRUTHS, score
    sys.exit(unseen4.main())
