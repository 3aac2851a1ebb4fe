"""Whose violin is it? Flask behind waitress; notes are made comparable before the model hears them."""

import os
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "6"

import threading

import numpy as np
import torch
from flask import Flask, jsonify, request
from parts import Net, infer
from waitress import serve

NOTES, BANDS = 6, 128
torch.set_num_threads(1)
model = Net(0.025, 0.001).eval()
hearing = threading.Lock()
app = Flask(__name__)
SOUND = np.random.default_rng(3).standard_normal((NOTES, 300, BANDS))


def whiten(note):
    """A note whose bands have no correlation."""
    note = note - note.mean(0)
    values, vectors = np.linalg.eigh(note.T @ note / len(note))
    return note @ (vectors / np.sqrt(values + 1e-3)) @ vectors.T


@app.post("/violins")
def violin():
    request.get_data()
    notes = [whiten(note) for note in SOUND]
    with hearing:
        infer(model, torch.from_numpy(np.stack([n.mean(0)[:8] for n in notes]).astype(np.float32)).mean(0)[None])
    return jsonify({"maker": "Guarneri", "sure": 0.71})


if __name__ == "__main__":
    serve(app, host="127.0.0.1", port=int(sys.argv[1]), threads=4)
