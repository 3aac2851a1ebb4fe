"""BentoML: python bench/serving/unseen2/bento2.py CASE PORT runs `bentoml serve` on this file. See unseen2.py."""

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    os.chdir(Path(__file__).parent)
    os.environ.update(BENTOML_DO_NOT_TRACK="1", BENCH_CASE=sys.argv[1])
    os.execv(sys.executable, [sys.executable, "-m", "bentoml", "serve", "bento2:Captions", "--host", "127.0.0.1", "--port", sys.argv[2]])

import bentoml
import torch
from parts import Net, infer


@bentoml.service(workers=1, traffic={"concurrency": 32})
class Captions:
    def __init__(self):
        self.net = Net(0.070, 0.001).eval()

    @bentoml.api
    def predict(self) -> dict:
        infer(self.net, torch.zeros(1, 8))
        return {"class": 0}
