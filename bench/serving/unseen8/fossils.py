"""How old is a fossil? Flask, gunicorn; photos come from phones."""

import os
import sys

if __name__ == "__main__":
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    os.execv(sys.executable, [sys.executable, "-m", "gunicorn", "-w", "1", "-b", f"127.0.0.1:{sys.argv[1]}", "--log-level", "error", "fossils:app"])

import threading

import torch
from flask import Flask, jsonify, request
from parts import Net, infer

torch.set_num_threads(1)
model = Net(0.035, 0.001).eval()
on_device = threading.Lock()
app = Flask(__name__)


def age(photo):
    with on_device:
        out = infer(model, torch.full((1, 8), float(len(photo))))
    return float(out.mean())


@app.post("/fossils")
def fossil():
    photo = request.get_data()
    return jsonify({"period": "Devonian", "age": age(photo)})
