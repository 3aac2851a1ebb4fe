"""Summaries of letters. BentoML: python bench/serving/unseen4/summaries.py PORT runs `bentoml serve` on this file."""

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    os.chdir(Path(__file__).parent)
    os.execv(sys.executable, [sys.executable, "-m", "bentoml", "serve", "summaries:Summaries", "--host", "127.0.0.1", "--port", sys.argv[1]])

import bentoml
import torch
from parts import Net, infer


@bentoml.service(workers=1, traffic={"concurrency": 64, "timeout": 60})
class Summaries:
    def __init__(self):
        self.net = Net(0.160, 0.030).eval()

    @bentoml.api(batchable=True, max_batch_size=8, max_latency_ms=8000)
    def predict(self, letters: list[str]) -> list[str]:
        infer(self.net, torch.zeros(len(letters), 8))
        return ["in short"] * len(letters)
