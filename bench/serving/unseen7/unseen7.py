#!/usr/bin/env python3
"""A seventh exam of servers: truths by somebody who had not read the rules, frozen before any answer was seen.

    bench/serving/unseen7/unseen7.py --python ~/serve/bin/python --keep FOLDER [NAME ...]
    bench/serving/unseen7/unseen7.py --again FOLDER [NAME ...]              # judge kept recordings with another bin/stoker
    bench/serving/unseen7/unseen7.py --python ~/serve/bin/python --prove    # no Stoker: each server as it is, and repaired

PYTHON has what ../unseen6/unseen6.py asks for, and PyYAML and dateutil. The runner is that of ../unseen4/unseen4.py, the judge that
of ../unseen6/unseen6.py, and no server is of an exam before. No line of a server marks its cause. Numbers behind the names of
repositories are those of public issues and pull requests that report it.
"""

import functools
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "unseen6"))

import unseen6
from unseen6 import APART, DEVICE, HOST, HOSTS, IDLE, MORE_WAIT, ONE, TOKENS, WAITING, WAITS, unseen4

#: Made or kept once, and not for each request.
ONCE = r"(?<!at )\bonce\b|\bcach(e|ed|es|ing)\b|\bkeep\b|\bkept\b|reuse"
Truth = functools.partial(unseen4.Truth, seconds=22, harmful=HOSTS)

TRUTHS = (
    # FastAPI.
    Truth(  # fastapi/fastapi 1224, 360
        "encoder", "subtitles.py", "--clients 3", (HOST,),
        "FastAPI: the answer holds 1,500 dataclasses, which jsonable_encoder takes apart in Python, in the event loop.",
        fix=rf"(?i)jsonable_encoder|serializ|encod|response_model|JSONResponse|orjson|dataclass|\bjson\b|pydantic|return[^.\"]{{0,30}}Response|{APART}",
        path="/subtitles",
        repair=(("    return {\"film\": asked.get(\"film\", \"unknown\"), \"words\": words}",
                 "    return __import__('fastapi').Response(__import__('orjson').dumps({'words': words}), media_type='application/json')"),),
    ),
    Truth(  # ml-explore/mlx-lm 1570, huggingface/huggingface_hub 1893
        "etag", "narrator.py", "--clients 3", (WAITS,),
        "FastAPI: two files of a voice are on the disk, but the hub is asked for their ETags for each request, 60 ms each, under the lock.",
        fix=rf"(?i)session\.head|\bhead\b|etag|newest|hub\b|local_files_only|\block\b|overlap|concurren|ahead|background|outside|{ONCE}",
        line=r"session\.head\(|def newest|self\.newest\(|hub\.file\(|def file", service=0.060, harmful=WAITING, path="/narrate",
        repair=(("    def newest(self", "    @__import__('functools').cache\n    def newest(self"),),
    ),
    Truth(  # ollama/ollama 14040, kyegomez/swarms 1735
        "trim", "tutor.py", "--clients 2", (TOKENS, HOST),
        "FastAPI, transformers' generate: the whole lesson is tokenized again for each of 80 messages that are dropped from it.",
        fix=rf"(?i)tokeni[sz]|encode|fitting|each message|count(s|ing)? (the )?tokens|{ONCE}|{APART}", line=r"tokenizer\.encode\(|def fitting|fitting\(", path="/tutor",
        repair=(("    while len(messages) > 1 and len(tokenizer.encode(prompt_of(messages))) > ROOM:\n        messages.pop(0)\n",
                 "    sizes = [38] * len(messages)\n    while len(messages) > 1 and sum(sizes) > ROOM:\n"
                 "        messages.pop(0)\n        sizes.pop(0)\n"),),
    ),
    # Starlette.
    Truth(  # keephq/keep 3056, OpenJobDescription/openjd-model-for-python 219
        "yaml", "recipes.py", "--clients 3", (HOST,),
        "Starlette: yaml.safe_load reads each body in Python, in the event loop.",
        fix=rf"(?i)yaml|safe_load|CSafeLoader|pars(e|ing)|\bjson\b|{APART}", line=r"yaml\.safe_load\(|def read|read\(await", path="/recipes",
        body="floats:3000", repair=(("yaml.safe_load(body)", "yaml.load(body, Loader=yaml.CSafeLoader)"),),
    ),
    # Flask.
    Truth(  # getsentry/sentry 41271, dateutil/dateutil 1523
        "dates", "sleepers.py", "--clients 3", (HOST,),
        "Flask, waitress: dateutil guesses the form of 1,000 times, one by one in Python.",
        fix=rf"(?i)dateutil|parser\.parse|fromisoformat|isoparse|strptime|\bdates?\b|timestamp|pars(e|ing)|{APART}",
        line=r"parser\.parse\(|def series|series\(", path="/sleep",
        repair=(("parser.parse(p[\"at\"])", "__import__('datetime').datetime.fromisoformat(p[\"at\"])"),),
    ),
    Truth(  # ultralytics/ultralytics 21411
        "layer-times", "portraits.py", "--clients 3", ("launch-bound", HOST),
        "Flask, waitress: each of 160 layers of 0.15 ms is waited for, so that a dashboard has its time, and the device waits for the next.",
        fix=r"(?i)synchroni|\bevents?\b(?! loop)|times\.of|timer|\btim(e|es|ing)\b of|dashboard|graph|torch\.compile|fewer (launches|kernels)|"
            r"larger kernels|fus(e|ed|ing)\b|launch(ed|es)? ahead|statistics|fmean|without waiting",
        line=r"def of|times\.of\(|statistics\.fmean|x = layer\(x\)|def forward", path="/portraits",
        repair=(("        device().synchronize(spin=False)\n        self.last", "        self.last"),
                ("        self.means[name] = statistics.fmean(self.last[name])\n", "")),
    ),
    # aiohttp.
    Truth(  # fishaudio/fish-speech 1145
        "collect", "radio.py", "--clients 3", (HOST,),
        "aiohttp: gc.collect after each sentence looks at 200,000 lists of a lexicon.",
        fix=rf"(?i)gc\.collect|garbage|\bgc\b|freeze|{APART}", line=r"gc\.collect\(", path="/say",
        repair=(("    gc.collect()\n", ""),),
    ),
    Truth(  # triton-inference-server/server 6937, 3395, 7738
        "same-shape", "stamps.py", "--clients 16", (ONE,),
        "aiohttp: the batcher takes 16 photos of one size, photos have 29 sizes, and nearly each pass has one.",
        fix=r"(?i)stack|together|\bpad(ded|ding|s)?\b|\bshapes?\b|photos of (one|a) size|same size|resiz|bucket|one pass|take\(|"
            r"\bin (a|one) batch|batch (the|them|requests|what|together)|what (has come|waits)",
        harmful=rf"{HOSTS}|{MORE_WAIT}",
        path="/stamps", repair=(("for n in range(29)]", "for n in range(1)]"),),
    ),
    Truth(  # BerriAI/litellm 19711, aio-libs/aiohttp 358
        "connector", "museum.py", "--clients 8", (WAITS,),
        "aiohttp: the session has one connection to the catalogue, which takes 110 ms, and eight requests wait for it.",
        fix=r"(?i)connector|\blimit\b|connection|session\.get|known|concurren|at (once|the same time)|in parallel|overlap|\bcach(e|ed|ing)\b|"
            r"catalogue|ahead",
        line=r"session\.get\(|answer\.json|def known|known\(|TCPConnector\(", service=0.110, harmful=WAITING, path="/paintings",
        repair=(("TCPConnector(limit=1,", "TCPConnector(limit=32,"),),
    ),
    # Tornado.
    Truth(  # numpy/numpy 26498, 22435
        "npz", "wines.py", "--clients 3", (HOST,),
        "Tornado: np.load of an .npz keeps no array, so 10 MB are decompressed for each request, in the event loop.",
        fix=rf"(?i)npz|np\.load|NpzFile|decompress|zlib|\bzip|self\.wines|in memory|mmap|{ONCE}|{APART}",
        line=r"self\.wines\[|np\.load\(", path="/wines", repair=(("wines = np.load(FILE)", "wines = dict(np.load(FILE))"),),
    ),
    # gRPC.
    Truth(  # m-bain/whisperX 639, 980
        "trellis", "karaoke.py", "--clients 3", (HOST,),
        "gRPC: after the pass, words are laid along 2,400 frames by a loop of small operations of PyTorch on the CPU.",
        fix=rf"(?i)trellis|path_of|align|forced_align|vectori[sz]|numba|compiled|C\+\+|numpy|on the (GPU|device)|{APART}",
        line=r"def trellis_of|def path_of|trellis_of\(|path_of\(", client="unseen4/clients.py rpc --method /songs.Karaoke/Align",
        repair=(("FRAMES, LETTERS, TOKENS = 2_400, 32, 60", "FRAMES, LETTERS, TOKENS = 64, 32, 60"),),
    ),
    # LitServe, BentoML.
    Truth(  # SYSTRAN/faster-whisper 1038
        "filters", "birds.py", "--clients 3", (HOST,),
        "LitServe: the mel filters, always the same, are made in Python for each request.",
        fix=rf"(?i)mel_filters|filters|triangle|decode_request|vectori[sz]|in setup|{ONCE}|{APART}",
        line=r"mel_filters\(|def mel_filters|def triangle|triangle\(", path="/predict",
        repair=(("def mel_filters(", "@__import__('functools').cache\ndef mel_filters("),),
    ),
    Truth(  # Mesh-LLM/mesh-llm 949, kohya-ss/musubi-tuner 19
        "hashes", "stickers.py", "--clients 3", (HOST,),
        "BentoML: for each sticker all weights are read again for their SHA-256, while the lock of the device is held.",
        fix=rf"(?i)fingerprint|sha\b|sha256|hash|mtime|\block\b|on_device|{ONCE}|{APART}",
        line=r"fingerprint\(|def fingerprint|sha\.update|f\.read\(", seconds=26,
        repair=(("def fingerprint(", "@__import__('functools').cache\ndef fingerprint("),),
    ),
    # Healthy, or idle for no fault.
    Truth(
        "ferries", "ferries.py", "", (DEVICE,),
        "gRPC with asyncio: batches of 16 of 40 requests, 356 ms each, one after another: healthy.",
        harmful=WAITING, client="unseen4/clients.py rpc --method /harbour.Ferries/Fill --clients 40",
    ),
    Truth(
        "limericks", "limericks.py", "--clients 20", (DEVICE,),
        "Starlette, transformers' generate: eight of 20 at once, 148 ms a token, one batch after another: healthy.",
        harmful=WAITING, path="/limericks", seconds=26,
    ),
    Truth(
        "beehives", "beehives.py", "--poisson 2", IDLE,
        "aiohttp: two requests a second of 72 ms, a seventh of the device, and all are answered at once: healthy.",
        harmful=WAITING, path="/hives",
    ),
)

if __name__ == "__main__":
    unseen4.__doc__, unseen4.FOLDER, unseen4.TRUTHS, unseen4.score = __doc__, FOLDER, TRUTHS, unseen6.score
    sys.exit(unseen4.main())
