"""Was it an earthquake? BentoML: python bench/serving/unseen8/quakes.py PORT runs `bentoml serve` on this file."""

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    os.chdir(Path(__file__).parent)
    os.execv(sys.executable, [sys.executable, "-m", "bentoml", "serve", "quakes:Quakes", "--host", "127.0.0.1", "--port", sys.argv[1]])

import threading

import bentoml
import numpy as np
import torch
from parts import Net, infer


@bentoml.service(workers=1, threads=4, traffic={"concurrency": 32})
class Quakes:
    def __init__(self):
        torch.set_num_threads(1)
        self.model = Net(0.024, 0.001).eval()
        self.on_device = threading.Lock()

    @bentoml.api
    def predict(self, x: np.ndarray) -> np.ndarray:
        """Of each moment of a seismogram, how sure it is."""
        with self.on_device:
            infer(self.model, torch.zeros(1, 8))
        return np.tanh(x)
