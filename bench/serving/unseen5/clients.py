"""Closed loops of other protocols: python bench/serving/unseen5/clients.py form|zmq --port PORT --seconds S [--clients N] [--think S]."""

import argparse
import json
import socket
import threading
import time


def wait_until_listening(port):
    for _ in range(300):
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.3)


def table(rows):
    """A table as a spreadsheet saves it, in a form."""
    text = "".join(f"{n},{n * 7 % 101},{n / 3:.4f},sensor {n % 13}\r\n" for n in range(rows)).encode()
    head = b'--frontier\r\nContent-Disposition: form-data; name="table"; filename="table.csv"\r\nContent-Type: text/csv\r\n\r\n'
    return head + text + b"\r\n--frontier--\r\n"


def form(o):
    import http.client

    wait_until_listening(o.port)
    connection = http.client.HTTPConnection("127.0.0.1", o.port, timeout=60)
    body, kind = table(o.rows), {"Content-Type": "multipart/form-data; boundary=frontier"}

    def ask():
        connection.request("POST", "/tables", body, kind)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200

    return ask


def zmq(o):
    import cv2
    import numpy as np
    import zmq

    noise = np.random.default_rng(1).integers(80, 170, (480, 640, 3), np.uint8)
    picture = cv2.imencode(".jpg", noise)[1].tobytes()
    to = zmq.Context.instance().socket(zmq.REQ)
    to.connect(f"tcp://127.0.0.1:{o.port}")

    def ask():
        to.send(picture)
        to.recv()

    return ask


def main(o):
    times = []
    first = {"form": form, "zmq": zmq}[o.kind](o)
    first()
    until = time.perf_counter() + o.seconds

    def client():
        ask = {"form": form, "zmq": zmq}[o.kind](o)
        while (begun := time.perf_counter()) < until:
            ask()
            times.append(time.perf_counter() - begun)
            time.sleep(o.think)

    threads = [threading.Thread(target=client, daemon=True) for _ in range(o.clients)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(o.seconds + 30)
    times.sort()
    print(json.dumps({"rate": len(times) / o.seconds, "p50": times[len(times) // 2] if times else None}), flush=True)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("kind", choices=["form", "zmq"])
    p.add_argument("--port", type=int, required=True)
    p.add_argument("--seconds", type=float, default=20)
    p.add_argument("--clients", type=int, default=1)
    p.add_argument("--think", type=float, default=0)
    p.add_argument("--rows", type=int, default=100_000)
    main(p.parse_args())
    import os

    os._exit(0)
