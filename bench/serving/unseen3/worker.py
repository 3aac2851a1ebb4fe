"""Workers of a queue, no server: python bench/serving/unseen3/worker.py CASE PORT. See unseen3.py.

The broker is not theirs: clients.py listens at PORT, as Redis or as a queue of multiprocessing.
"""

import os
import socket
import sys
import time
from multiprocessing.managers import BaseManager

import torch
from parts import Net, infer

CASE, PORT = sys.argv[1], int(sys.argv[2])
FIXED = os.environ.get("BENCH_FIXED") == "1"


class Redis:
    """What a worker needs of a client."""

    def __init__(self, port):
        while True:
            try:
                self.socket = socket.create_connection(("127.0.0.1", port))
                break
            except OSError:
                time.sleep(0.3)
        self.file = self.socket.makefile("rb")

    def do(self, *words):
        words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        return self.answer()

    def answer(self):
        line = self.file.readline()
        if not line:
            raise EOFError
        kind, rest = line[:1], line[1:-2]
        if kind == b"*":
            return [self.answer() for _ in range(int(rest))] if rest != b"-1" else None
        if kind == b"$":
            return self.file.read(int(rest) + 2)[:-2] if rest != b"-1" else None
        return rest


def redis():
    """Takes jobs from a list, answers into another."""
    net = (Net(0.050, 0.010) if CASE == "redis-full" else Net(0.040, 0.001)).eval()
    redis, most = Redis(PORT), 16 if CASE == "redis-full" or FIXED else 1
    while True:
        first = redis.do("BLPOP", "jobs", 1)
        if first is None:
            continue
        batch = [first[1]]
        if most > 1:
            batch += redis.do("LPOP", "jobs", most - 1) or []
        infer(net, torch.zeros(len(batch), 8))
        redis.do("RPUSH", "answers", *batch)


def bursts():
    """A queue of multiprocessing, of another program: 32 pictures come each four seconds."""
    net = Net(0.030, 0.005).eval()
    BaseManager.register("jobs")
    manager = BaseManager(("127.0.0.1", PORT), b"none")
    while True:
        try:
            manager.connect()
            break
        except OSError:
            time.sleep(0.3)
    jobs = manager.jobs()
    while True:
        batch = [jobs.get()]
        while len(batch) < 16 and not jobs.empty():
            batch.append(jobs.get())
        infer(net, torch.zeros(len(batch), 8))


try:
    bursts() if CASE == "mp-bursts" else redis()
except (EOFError, OSError):
    time.sleep(600)
