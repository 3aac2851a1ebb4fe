"""Flask behind waitress or gunicorn: python bench/serving/unseen3/flask3.py CASE PORT. See unseen3.py."""

import os
import sys

FIXED = os.environ.get("BENCH_FIXED") == "1"
if __name__ == "__main__" and sys.argv[1].startswith("gunicorn"):
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    os.environ["BENCH_CASE"] = sys.argv[1]
    more = ["-k", "gthread", "--threads", "8"] if FIXED else ["-k", "sync"]
    os.execv(sys.executable, [sys.executable, "-m", "gunicorn", "-w", "1", *more, "-b", f"127.0.0.1:{sys.argv[2]}", "--log-level", "warning", "flask3:app"])

import sqlite3
import tempfile
import threading

import torch
from flask import Flask, Response, jsonify, request
from parts import Net, infer, lock

CASE = os.environ.get("BENCH_CASE") or sys.argv[1]
app = Flask(__name__)
net = Net(0.060, 0.0).eval() if CASE == "flask-probes" else Net(0.020, 0.002).eval()
here = threading.local()
MASK = os.urandom(1_000_000) * 24

if CASE == "flask-scan":
    FILE = tempfile.mktemp(suffix=".sqlite")
    made = sqlite3.connect(FILE)
    made.execute("create table features (user_id integer, name text, value real)")
    made.executemany("insert into features values (?, ?, ?)", ((i % 30_011, f"f{i % 7}", i / 3) for i in range(300_000)))
    if FIXED:
        made.execute("create index by_user on features (user_id)")
    made.commit()
    made.close()


def features(users):
    if not hasattr(here, "db"):
        here.db = sqlite3.connect(FILE)
    found = []
    for user in users:
        rows = here.db.execute("select name, value from features where user_id = ?", (user,)).fetchall()  # the cause of flask-scan
        found.append(sum(value for _, value in rows))
    return found


@app.get("/health")
def health():
    return "ok"


@app.post("/predict")
def predict():
    request.get_data()
    if CASE == "flask-scan":
        features(range(17, 22))
    with lock:
        infer(net, torch.zeros(1, 8))
    if CASE == "gunicorn-slow":
        return Response(MASK, mimetype="application/octet-stream")  # the worker sends it to the last byte
    return jsonify({"class": 0})


if __name__ == "__main__":
    from waitress import serve

    serve(app, host="127.0.0.1", port=int(sys.argv[2]), threads=4)
