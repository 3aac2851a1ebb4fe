"""BentoML: python bench/serving/unseen/bento.py CASE PORT runs `bentoml serve` on this file. See unseen.py."""

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    os.chdir(Path(__file__).parent)
    os.environ.update(BENTOML_DO_NOT_TRACK="1", BENCH_CASE=sys.argv[1])
    os.execv(sys.executable, [sys.executable, "-m", "bentoml", "serve", "bento:Classifier", "--host", "127.0.0.1", "--port", sys.argv[2]])

import bentoml
import torch
from parts import Net, infer

CASE = os.environ["BENCH_CASE"]


@bentoml.service(workers=1)
class Classifier:
    def __init__(self):
        self.net = Net().eval()

    @bentoml.api
    def predict(self) -> dict:
        if CASE == "bento-features":
            counts = {}
            for i in range(400_000):  # the cause of bento-features
                counts[i % 1013] = counts.get(i % 1013, 0) + 1  # the cause of bento-features
        infer(self.net, torch.zeros(1, 8))
        return {"class": 0}
