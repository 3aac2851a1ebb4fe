#!/usr/bin/env python3
"""Data sets with one slow line, of each kind, which the program times itself: `stoker observe` has to name it.

    python bench/labelled/lines.py                              # all kinds under bin/stoker: named line, share, true share
    python bench/labelled/lines.py decoder --workers 2          # one of them, to be observed

The first is run with the Python of `make torch`, after `make build emulate`.
"""

import argparse
import http.client
import http.server
import io
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, default_collate, get_worker_info

from stoker.emulated import Device

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(tempfile.gettempdir())
NOISE = np.random.default_rng(0).integers(0, 255, (384, 384, 3), dtype=np.uint8)
PICTURE = Image.fromarray(NOISE)
PACKED = io.BytesIO()
PICTURE.save(PACKED, "JPEG")
RECORD = json.dumps([{"name": str(i), "box": [i, i + 1.5]} for i in range(2500)])
WORDS = " ".join(f"word{i % 50}" for i in range(2000))
TIMES = multiprocessing.Array("d", 64)  # of each worker: in the slow line, in all


def count(n: int) -> int:
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


def decoder() -> Callable[[], object]:
    return lambda: Image.open(io.BytesIO(PACKED.getvalue())).convert("L")


def augmentation() -> Callable[[], object]:
    return lambda: PICTURE.rotate(7, Image.Resampling.BICUBIC)


def collate() -> Callable[[], object]:
    return lambda: [float(value) for value in NOISE.ravel()]


def tokenizer() -> Callable[[], object]:
    import tokenizers
    import transformers

    vocabulary = {f"word{i}": i for i in range(50)} | {"[UNK]": 50}
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    known = transformers.PreTrainedTokenizerFast(tokenizer_object=words)
    return lambda: known(WORDS)


class Answer(http.server.BaseHTTPRequestHandler):
    """A server that takes its time."""

    def do_GET(self) -> None:
        time.sleep(0.005)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def request() -> Callable[[], object]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def ask() -> bytes:
        connection = http.client.HTTPConnection(*server.server_address)
        connection.request("GET", "/")
        return connection.getresponse().read()

    return ask


def file() -> Callable[[], object]:
    path = FOLDER / f"lines-{os.getpid()}.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(400):
            archive.writestr(f"{i}.txt", "0")
    return lambda: zipfile.ZipFile(path).close()


def parser() -> Callable[[], object]:
    return lambda: json.loads(RECORD)


def code() -> Callable[[], object]:
    return lambda: count(80_000)


def wait() -> Callable[[], object]:
    return lambda: time.sleep(0.006)


KINDS = {make.__name__: make for make in (decoder, augmentation, collate, tokenizer, request, file, parser, code, wait)}


class Samples(Dataset):
    """Samples that take the slow line, unless it is collate_fn's, and some time besides."""

    def __init__(self, kind: str) -> None:
        self.slow = KINDS[kind]()
        self.collates = kind == "collate"

    def __len__(self) -> int:
        return 1 << 20

    def __getitem__(self, index: int) -> torch.Tensor:
        began = time.perf_counter()
        if not self.collates:
            self.slow()
            add_time(0, began)
        small = np.sort(NOISE[:20].ravel())[:8]
        add_time(1, began)
        return torch.from_numpy(small.copy()).float()

    def collate(self, samples: list) -> torch.Tensor:
        began = time.perf_counter()
        if self.collates:
            self.slow()
            add_time(0, began)
        batch = default_collate(samples)
        add_time(1, began)
        return batch


def add_time(what: int, began: float) -> None:
    info = get_worker_info()
    TIMES[2 * (info.id if info else 0) + what] += time.perf_counter() - began


def train(kind: str, workers: int, seconds: float) -> None:
    """Train on such samples; print how much of preparing them the slow line took."""
    samples, device, parameter = Samples(kind), Device(), torch.nn.Parameter(torch.zeros(8))
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    until = time.monotonic() + seconds
    for batch in DataLoader(samples, batch_size=8, num_workers=workers, collate_fn=samples.collate):
        device.launch(0.03)
        device.item()
        parameter.grad = batch.mean(0)
        optimizer.step()
        if time.monotonic() > until:
            break
    print(json.dumps({"share": sum(TIMES[0::2]) / sum(TIMES[1::2])}))


def observe(kind: str, workers: int, seconds: float) -> str:
    """Run one of them under stoker: a row of the table."""
    out = FOLDER / f"lines-{kind}-{workers}-{os.getpid()}.jsonl.gz"
    stoker = str(ROOT / "bin/stoker")
    environment = dict(os.environ, STOKER_EMULATE="1", PYTHONPATH=str(ROOT / "python"))
    own = [sys.executable, __file__, kind, "--workers", str(workers), "--seconds", str(seconds)]
    ran = subprocess.run([stoker, "observe", "-q", "-o", out, "--", *own], env=environment, capture_output=True, text=True, check=True)
    told = json.loads(subprocess.run([stoker, "diagnose", "--json", out], capture_output=True, text=True, check=True).stdout)
    true = json.loads(ran.stdout.splitlines()[-1])["share"]
    line = (told["lines"] or [{}])[0]
    finding = "yes" if any(f["name"] == "slow-transform" for f in told["findings"]) else "no"
    share, place = line.get("share") or dict.fromkeys(("low", "point", "high"), float("nan")), f"{Path(line.get('file', '-')).name}:{line.get('line')}"
    inside = "in" if share["low"] <= true <= share["high"] else "OUT"
    return (
        f"{kind:13}{workers:3}  {line.get('kind', '-'):13}{place:16}{line.get('calls') or '':46}"
        f"{100 * share['point']:4.0f} % ({100 * share['low']:.0f} to {100 * share['high']:.0f}), true {100 * true:.0f} % {inside:4} finding {finding}; {told['verdict']['class']}"
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("kind", nargs="?", choices=KINDS)
    arguments.add_argument("--workers", type=int, default=0)
    arguments.add_argument("--seconds", type=float, default=20)
    given = arguments.parse_args()
    if given.kind:
        train(given.kind, given.workers, given.seconds)
        return
    for kind in KINDS:
        for workers in (0, 2):
            print(observe(kind, workers, given.seconds), flush=True)


if __name__ == "__main__":
    main()
