"""Portraits in one of three styles. BentoML: python bench/serving/unseen4/avatar.py PORT runs `bentoml serve` on this file."""

import functools
import itertools
import os
import sys
from pathlib import Path

if __name__ == "__main__":
    os.chdir(Path(__file__).parent)
    os.execv(sys.executable, [sys.executable, "-m", "bentoml", "serve", "avatar:Avatar", "--host", "127.0.0.1", "--port", sys.argv[1]])

import bentoml
import torch
from parts import Net, device, infer

STYLES = ("oil", "pencil", "comic")
LAYERS, SIZE, RANK = 16, 1536, 32


@bentoml.service(workers=1, traffic={"concurrency": 8})
class Avatar:
    def __init__(self):
        self.net = Net(0.050, 0.001).eval()
        self.base = [torch.randn(SIZE, SIZE) for _ in range(LAYERS)]
        self.adapters = {style: [(torch.randn(SIZE, RANK), torch.randn(RANK, SIZE)) for _ in range(LAYERS)] for style in STYLES}
        self.asked = itertools.cycle(STYLES)

    def merge(self, style):
        weights = []
        for base, (up, down) in zip(self.base, self.adapters[style]):
            weights.append(base + 0.8 * (up @ down))
        return weights

    @bentoml.api
    def predict(self) -> dict:
        weights = self.merge(next(self.asked))
        device().copy(sum(w.nbytes for w in weights), pinned=True)
        infer(self.net, torch.zeros(1, 8))
        return {"picture": ""}
