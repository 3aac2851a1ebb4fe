"""Flask behind waitress or gunicorn: python bench/serving/unseen2/flasks.py CASE PORT. See unseen2.py."""

import io
import os
import sys

if __name__ == "__main__" and sys.argv[1].startswith("gunicorn"):
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    os.environ["BENCH_CASE"] = sys.argv[1]
    os.execv(sys.executable, [sys.executable, "-m", "gunicorn", "-w", "1", "-b", f"127.0.0.1:{sys.argv[2]}", "--log-level", "warning", "flasks:app"])

import numpy as np
import torch
from flask import Flask, jsonify, request
from parts import Net, infer, lock
from PIL import Image

CASE = os.environ.get("BENCH_CASE") or sys.argv[1]
app = Flask(__name__)
net = Net().eval()
file = io.BytesIO()
Image.effect_noise((1500, 1500), 64).convert("RGB").save(file, "JPEG", quality=90)
PICTURE = file.getvalue()


@app.post("/predict")
def predict():
    request.get_data()
    if CASE == "gunicorn-decode":
        picture = Image.open(io.BytesIO(PICTURE)).convert("RGB")  # the cause of gunicorn-decode
        picture = picture.resize((224, 224), Image.Resampling.BICUBIC)  # the cause of gunicorn-decode
    with lock:
        infer(net, torch.zeros(1, 8))
    if CASE == "flask-embedding":
        return jsonify({"embedding": np.random.random(70_000).tolist()})  # the cause of flask-embedding
    return jsonify({"class": 0})


if __name__ == "__main__":
    from waitress import serve

    serve(app, host="127.0.0.1", port=int(sys.argv[2]), threads=6)
