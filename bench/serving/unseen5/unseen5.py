#!/usr/bin/env python3
"""A fifth exam of servers: truths by somebody who had not read the rules, frozen before any answer was seen.

    bench/serving/unseen5/unseen5.py --python ~/serve/bin/python --keep FOLDER [NAME ...]
    bench/serving/unseen5/unseen5.py --again FOLDER [NAME ...]              # judge kept recordings with another bin/stoker
    bench/serving/unseen5/unseen5.py --python ~/serve/bin/python --prove    # no Stoker: each server as it is, and repaired

PYTHON, the rules of the marks and the runner are those of ../unseen4/unseen4.py; of its servers none is here. No line of a
server marks its cause: a line is known by its text, and a repair edits a copy. Numbers behind the names of
repositories are those of public issues and pull requests that report the cause.
"""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "unseen4"))

import unseen4
from unseen4 import DEVICE, GATHER, HARDWARE, HOST, IDLE, ONE, TOKENS, WAITS, Truth

#: Work of the host goes elsewhere: to other processes or threads, or to the device.
APART = (r"(another|other|own|more|several|separate|worker|pool of) (worker )?process(es)?\b|process pool|ProcessPool|to_thread|"
         r"run_in_executor|off the (event )?loop|overlap|in parallel|ahead of")
ON_DEVICE = r"(decod|resiz|prepar|comput|mov|put|sort|search|make|sound)\w*\b[^.\"]{0,40} (on|to|onto) the (GPU|device)"
MORE_WAIT = r"(?i:(longer|raise|increase)[^.\"]{0,40}(window|wait|timeout|delay))"
WAITING = f"{HARDWARE}|{GATHER}"

TRUTHS = (
    # FastAPI.
    Truth(  # voiceping.net/en/blog/research-translation-bottleneck
        "polled-answer", "interpret.py", "--clients 4", (WAITS,),
        "FastAPI: the answer lies in a manager's dictionary, where the request looks for it each 300 ms.",
        fix=r"(?i)\bpoll|sleep|CHECK_EVERY|shorter|more often|notif|a future|an? (asyncio\.)?event\b(?! loop)|(through|via|over|with|on) a (queue|pipe)",
        line=r"asyncio\.sleep\(CHECK_EVERY|def wait_for",
        harmful=WAITING, path="/translate", repair=(("CHECK_EVERY, GIVE_UP = 0.3", "CHECK_EVERY, GIVE_UP = 0.004"),),
    ),
    Truth(  # a retry with growing delays, as in tenacity's documents
        "retries", "assistant.py", "--clients 3", (WAITS,),
        "FastAPI: another service is busy for two of three requests, and each retry sleeps: 80 ms, 160 ms, and then 300 ms.",
        fix=r"(?i)sleep|retr(y|ies|ying)|back-?off|cache|\bonce\b|limits_of|concurren|at (once|the same time)|overlap",
        line=r"time\.sleep\(delay\)|urlopen|limits_of\(|def wrapped", service=0.010,
        harmful=WAITING, path="/v1/ask", repair=(("@retrying\n", "@__import__('functools').cache\n@retrying\n"),),
    ),
    Truth(  # vllm-project/vllm 57540
        "runs", "invoices.py", "--clients 2", (HOST,),
        "FastAPI, transformers' generate: before each token a logits processor in Python makes a table of all runs of 20 tokens again.",
        fix=rf"(?i)logits|NoRunTwice|forbidden|tokens? (so far|seen)|increment|vectori[sz]|compiled|run = tuple|{ON_DEVICE}|{APART}",
        line=r"def forbidden|def __call__", path="/read",
        repair=(("logits_processor=no_run_twice", "logits_processor=None"),), seconds=30,
    ),
    Truth(  # Blaizzy/mlx-vlm 808
        "typewriter", "storyteller.py", "--clients 3", (WAITS,),
        "FastAPI, a stream: 18 ms asleep after each word of 7 ms, and no other story is told meanwhile.",
        fix=r"(?i)sleep|lock\b|telling", line=r"asyncio\.sleep|async with telling|def events",
        harmful=WAITING, path="/stories", repair=(("asyncio.sleep(0.018)", "asyncio.sleep(0)"),),
    ),
    Truth(  # NVIDIA/Megatron-LM 6818
        "template", "agent.py", "--clients 3", (HOST, TOKENS),
        "FastAPI: a conversation of 2,700 messages is rendered by Jinja in the event loop, all of it for each request.",
        fix=rf"(?i)apply_chat_template|jinja|template|render|cache|{APART}", line=r"apply_chat_template",
        path="/v1/chat/completions", repair=(("TURNS = 900", "TURNS = 9"),),
    ),
    Truth(  # vllm-project/vllm-omni 7459, open-edge-platform/geti 7325
        "by-line", "posters.py", "--clients 3", (HOST,),
        "FastAPI: StreamingResponse takes a BytesIO line by line, 3,600 bits of a picture, each through a thread.",
        fix=r"(?i)StreamingResponse|BytesIO|larger chunks|in one (piece|chunk)|line by line|Response\(|getvalue",
        line=r"StreamingResponse\(|def poster\b|def poster\(", path="/posters",
        repair=(("StreamingResponse(file, media_type", "Response(file.getvalue(), media_type"),),
    ),
    # Starlette, bare ASGI.
    Truth(  # huggingface/transformers 19976, 44278
        "entities", "gazette.py", "--clients 3", (HOST,),
        "Starlette, transformers' pipeline: after the pass, names are put together in Python, token by token, 1,800 of them.",
        fix=rf"(?i)aggregat|postprocess|entit|\bner\(|vectori[sz]|\block\b|{APART}", line=r"= ner\(text\)|def entities",
        path="/annotate", repair=(("found = ner(text)", "found = ner.forward(next(ner.preprocess(text, **ner._preprocess_params))) and []"),),
    ),
    Truth(
        "table", "forecast.py", "", (HOST,),
        "Starlette: a table of 100,000 rows comes in a form, csv.DictReader reads all of it in the event loop, and the model gets 512.",
        fix=rf"(?i)csv|DictReader|read_table|pars(e|ing)|\brows\b|pandas|numpy|{APART}", line=r"DictReader|def read_table|read_table\(",
        client="unseen5/clients.py form --clients 3", path="/tables",
        repair=(("io.StringIO(text)", "io.StringIO(text[-40_000:].partition('\\n')[2])"),),
    ),
    Truth(
        "fed-by-one", "paraphrase.py", "--clients 12", (ONE,),
        "Starlette: the batcher takes 16, but a semaphore of one lets a single request come to it.",
        fix=r"(?i)semaphore|one_request|concurren|at (once|the same time)|admit|reach(es)? the batcher", line=r"async with one_request|Semaphore\(1\)|def compare",
        harmful=rf"{HARDWARE}|{MORE_WAIT}", path="/compare", repair=(("asyncio.Semaphore(1)", "asyncio.Semaphore(64)"),),
    ),
    Truth(
        "limiter", "abstracts.py", "--clients 5", (WAITS,),
        "ASGI without a framework: a bucket lets seven requests a second through, and the others sleep.",
        fix=r"(?i)sleep|\blimit(er|s|ed)?\b|PER_SECOND|per second|bucket|\bgap\b", line=r"asyncio\.sleep\(|self\.free_at|class Bucket|PER_SECOND",
        harmful=WAITING, path="/abstract", repair=(("PER_SECOND = 7", "PER_SECOND = 1000"),),
    ),
    # Tornado, aiohttp.
    Truth(  # pytorch/serve 2898
        "in-turn", "defects.py", "--clients 12", (HOST,),
        "Tornado, a handler as TorchServe's: a batch of 12 photos is decoded one by one, then the device has its pass, then the next 12.",
        fix=rf"(?i)preprocess|decod|resiz|imdecode|while the (GPU|device)|smaller (photo|picture|image)|{ON_DEVICE}|{APART}",
        line=r"def preprocess|cv2\.(imdecode|resize|cvtColor)|handler\.handle",
        path="/predictions/defects", repair=(("SHEET = (1400, 1100)", "SHEET = (140, 110)"),),
    ),
    Truth(
        "in-series", "moodboard.py", "--clients 3", (WAITS,),
        "aiohttp: eight photos are fetched one after another, 45 ms each, before the model sees them.",
        fix=r"(?i)gather\(|concurren|at (once|the same time)|in parallel|overlap|download|collect\(|TaskGroup",
        line=r"await download\(|session\.get|answer\.read\(\)|def collect|def download", service=0.045,
        harmful=WAITING, path="/board",
        repair=(("    photos = []\n    for name in names:\n        photos.append(await download(session, PHOTOS + name))\n    return photos\n",
                 "    return await asyncio.gather(*(download(session, PHOTOS + name) for name in names))\n"),),
    ),
    Truth(  # pytorch/pytorch 57467
        "list-of-arrays", "gait.py", "", (HOST,),
        "aiohttp, a websocket: torch.tensor takes a list of 1,600 arrays, and reads it number by number in the event loop.",
        fix=rf"(?i)torch\.tensor|tensor_of|np\.(stack|array)|numpy\.array|from_numpy|one array|{APART}", line=r"torch\.tensor\(|tensor_of\(",
        client="unseen3/clients.py ws --clients 2", repair=(("torch.tensor(frames)", "torch.from_numpy(np.stack(frames))"),),
    ),
    # Flask.
    Truth(  # vllm-project/vllm 45124, 49013
        "64-threads", "faces.py", "--clients 3", (HOST,),
        "Flask, waitress: each of 24 crops is made alike by PyTorch on the CPU, in 64 threads on two cores, for each of four requests.",
        fix=rf"(?i)set_num_threads|OMP_NUM_THREADS|(fewer|too many|64)[^.\"]{{0,20}}threads|\bcores?\b|align|in one (call|batch)|{ON_DEVICE}",
        line=r"def align|align\(frame\)|set_num_threads", path="/verify",
        harmful=rf"{HARDWARE}|(?i:(more|raise|increase)[^.\"]{{0,30}}(workers|threads))",
        repair=(("set_num_threads(64)", "set_num_threads(1)"),),
    ),
    Truth(  # aws/amazon-sagemaker-examples 341
        "model-fn", "claims.py", "--clients 3", (HOST, "start-up"),
        "Flask, gunicorn, a container as SageMaker's: model_fn makes the model again for each request.",
        fix=r"(?i)model_fn|\bonce\b|(keep|cache)[^.\"]{0,30}model|load_state_dict|(load|mak|construct|build)\w*[^.\"]{0,40}(each|every) request",
        line=r"def model_fn|model_fn\(", path="/invocations",
        repair=(("def model_fn(", "@__import__('functools').cache\ndef model_fn("),),
    ),
    Truth(  # huggingface/transformers 11251, 20973
        "pipeline-list", "reviews.py", "--clients 2", (ONE,),
        "Flask, transformers' pipeline: a request brings 24 texts, and without batch_size each of them is a pass.",
        fix=r"(?i)batch_?size|batch", harmful=rf"{HARDWARE}|{MORE_WAIT}", path="/products/rate",
        repair=(('tokenizer=vocabulary(), device="cpu")', 'tokenizer=vocabulary(), device="cpu", batch_size=24)'),),
    ),
    Truth(  # dudarenok-maker/Castwright 1374, boson-ai/higgs-audio 98
        "left-behind", "aloud.py", "--clients 2", (HOST, "compute-on-cpu"),
        "Flask: the model is on the device, but the decoder that makes sound of its codes runs on the CPU.",
        fix=rf"(?i)\.to\(|\.cuda\(|decoder|sound_of|(runs?|compute|model) on the CPU|{ON_DEVICE}", line=r"decoder\(codes\)|sound_of\(|def forward",
        path="/speak", repair=(("(decoder(codes)[0, 0] * 32767)", "(infer(Net(0.004, 0), torch.zeros(FRAMES * 256)) * 32767)"),),
    ),
    # LitServe, Ray Serve.
    Truth(  # simonw/llm 246
        "nearest", "lawyer.py", "--clients 3", (HOST,),
        "LitServe: before the model, the question is compared with 120,000 passages on the CPU, and all of them are sorted.",
        fix=rf"(?i)argsort|argpartition|top-?k|nearest|(an|approximate) index\b|faiss|likeness|{ON_DEVICE}|{APART}",
        line=r"np\.argsort|self\.vectors @|def nearest|\.nearest\(",
        path="/predict", repair=(("PASSAGES, DIMENSIONS, WANTED = 120_000", "PASSAGES, DIMENSIONS, WANTED = 1_200"),),
    ),
    Truth(  # Layr-Labs/d-inference 789, ray-project/ray 35701
        "swapped", "voices.py", "--clients 3", ("transfer-bound",),
        "Ray Serve, multiplexed: three voices are asked for in turn and one has room, so each request moves 1.4 GB to the device.",
        fix=r"(?i)max_num_models|multiplex|keep[^.\"]{0,40}(weights|models?|voices?)\b|\bonce\b|pinned|evict|swap|models? (in|on) the (device|GPU)",
        line=r"\.copy\(|def voice|@serve\.multiplexed|self\.voice\(|Voice\(", path="/read",
        repair=(("max_num_models_per_replica=1", "max_num_models_per_replica=3"),), seconds=30,
    ),
    # gRPC, ZeroMQ.
    Truth(  # mli/autocut 60
        "silence", "meeting.py", "--clients 3", (HOST,),
        "gRPC with asyncio: before the model, 4,500 frames of 10 ms are looked at one by one in Python, in the event loop.",
        fix=rf"(?i)is_speech|segments|all frames|vectori[sz]|detector|\bVAD\b|{APART}", line=r"def is_speech|def segments|detector\.segments",
        client="unseen4/clients.py rpc --method /office.Minutes/Transcribe",
        repair=(("RATE * 45", "RATE * 14"), ("parts = detector.segments(SOUND)", "parts = [0]")),
    ),
    Truth(  # the shape of jina-ai/clip-as-service
        "as-text", "vectors_of.py", "", (HOST,),
        "ZeroMQ: the picture goes from the front to the model's process as JSON, 150,000 numbers written and read again.",
        fix=r"(?i)json|tolist|serial|\bbytes\b|send_pyobj|pickle|shared memory|buffer|hand_over|receive\(",
        line=r"send_json|recv_json|np\.array\(message|def hand_over|def receive",
        client="unseen5/clients.py zmq --clients 3",
        repair=(('worker.send_json({"shape": picture.shape, "pixels": picture.ravel().tolist()})', "worker.send(picture)"),
                ("    message = socket.recv_json()\n    return np.array(message[\"pixels\"], np.float32).reshape(message[\"shape\"])",
                 "    return np.frombuffer(bytearray(socket.recv()), np.float32).reshape(224, 224, 3)")),
    ),
    # Healthy, or idle for no fault.
    Truth(
        "rain", "weather.py", "--poisson 4", IDLE,
        "Tornado: four requests a second of 62 ms, a quarter of the device, and all are answered at once: healthy.",
        path="/rain",
    ),
    Truth(
        "folding", "proteins.py", "--clients 24", (DEVICE,),
        "gRPC with threads: batches of eight of 24 requests, 390 ms each, one after another: healthy.",
        client="unseen4/clients.py rpc --method /lab.Folding/Fold",
    ),
    Truth(
        "gate", "gate.py", "", IDLE,
        "ZeroMQ: a camera asks, and again 700 ms after it has its answer of 50 ms: healthy.",
        client="unseen5/clients.py zmq --clients 1 --think 0.7",
    ),
)

if __name__ == "__main__":
    unseen4.__doc__, unseen4.FOLDER, unseen4.TRUTHS = __doc__, FOLDER, TRUTHS
    sys.exit(unseen4.main())
