"""A loop that scores what comes from a queue (ZeroMQ): score.py CASE PORT, and its load: score.py load --port PORT --every S."""

import json
import random
import socket
import sys
import time

import zmq


def serve(case, port):
    import torch
    from parts import Net, infer

    net = Net(0.030, 0.001).eval()
    rows = zmq.Context().socket(zmq.PULL)
    rows.bind(f"tcp://127.0.0.1:{port}")
    while True:
        batch = [rows.recv()]
        while len(batch) < 16 and rows.poll(5):
            batch.append(rows.recv())
        features = []
        for row in batch:
            if case == "score-json":
                asked = json.loads(row)
                for name, value in asked.items():
                    features.append(hash(name) % 1000 * value)  # the cause of score-json
        infer(net, torch.zeros(len(batch), 8))


def load(port, seconds, every):
    """Rows as fast as they are taken, or one each `every` seconds in the mean."""
    for _ in range(240):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            time.sleep(0.25)
    rows = zmq.Context().socket(zmq.PUSH)
    rows.setsockopt(zmq.SNDHWM, 64)
    rows.setsockopt(zmq.LINGER, 0)
    rows.connect(f"tcp://127.0.0.1:{port}")
    row = json.dumps({f"feature{i}": i / 7 for i in range(9000)}).encode()
    until, sent, chance = time.monotonic() + seconds, 0, random.Random(1)
    while time.monotonic() < until:
        if rows.poll(100, zmq.POLLOUT):
            rows.send(row)
            sent += 1
        if every:
            time.sleep(chance.expovariate(1 / every))
    print(json.dumps({"rate": sent / seconds, "p50": None}))


if __name__ == "__main__":
    if sys.argv[1] == "load":
        at = {sys.argv[i]: sys.argv[i + 1] for i in range(2, len(sys.argv) - 1)}
        load(int(at["--port"]), float(at["--seconds"]), float(at.get("--every", 0)))
    else:
        serve(sys.argv[1], int(sys.argv[2]))
