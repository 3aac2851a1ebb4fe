"""A sticker of a sentence. BentoML: python bench/serving/unseen7/stickers.py PORT runs `bentoml serve` on this file."""

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    os.chdir(Path(__file__).parent)
    os.execv(sys.executable, [sys.executable, "-m", "bentoml", "serve", "stickers:Stickers", "--host", "127.0.0.1", "--port", sys.argv[1]])

import hashlib
import tempfile
import threading

import bentoml
import torch
from parts import Net, infer

MEGABYTES = 64
WEIGHTS = Path(tempfile.gettempdir()) / "unseen7-stickers.safetensors"


def fingerprint(path):
    """Which weights drew it, as galleries want to know."""
    sha = hashlib.sha256()
    with open(path, "rb") as f:
        while part := f.read(1 << 20):
            sha.update(part)
    return sha.hexdigest()[:10]


@bentoml.service(workers=1, threads=4, traffic={"concurrency": 32})
class Stickers:
    def __init__(self):
        WEIGHTS.write_bytes(bytes(MEGABYTES << 20))
        self.model = Net(0.040, 0.001).eval()
        self.on_device = threading.Lock()

    @bentoml.api
    def predict(self, sentence: str = "a cat with a hat") -> dict:
        with self.on_device:
            infer(self.model, torch.zeros(1, 8))
            return {"sentence": sentence, "model": fingerprint(WEIGHTS)}
