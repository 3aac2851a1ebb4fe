"""Will a guest come? BentoML: python bench/serving/unseen6/bookings.py PORT runs `bentoml serve` on this file."""

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    os.chdir(Path(__file__).parent)
    os.execv(sys.executable, [sys.executable, "-m", "bentoml", "serve", "bookings:Bookings", "--host", "127.0.0.1", "--port", sys.argv[1]])

import threading

import bentoml
import requests
import torch
from parts import Net, infer

WEATHER = os.environ.get("SERVICE_URL", "") + "/weather/"


@bentoml.service(workers=1, traffic={"concurrency": 32})
class Bookings:
    def __init__(self):
        self.model = Net(0.018, 0.001).eval()
        self.session = requests.Session()
        self.on_device = threading.Lock()

    def weather(self, place):
        answer = self.session.get(WEATHER + place, timeout=5)
        answer.raise_for_status()
        return answer.json()

    @bentoml.api
    def predict(self, place: str = "oslo", nights: int = 2) -> dict:
        weather = self.weather(place)
        with self.on_device:
            infer(self.model, torch.zeros(1, 8) + nights + len(weather))
        return {"comes": 0.93}
