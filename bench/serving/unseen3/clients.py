"""Loads that ../load.py does not have: python bench/serving/unseen3/clients.py KIND --port PORT --seconds S [--clients N]."""

import argparse
import asyncio
import collections
import io
import json
import queue
import random
import socket
import sys
import threading
import time
from multiprocessing.managers import BaseManager

times = []


def print_times(seconds):
    times.sort()
    print(json.dumps({"rate": len(times) / seconds, "p50": times[len(times) // 2] if times else None}))


def until_open(o):
    for _ in range(200):
        try:
            if o.kind in ("slow", "probes"):  # gunicorn listens before its worker is there
                ask(o.port, "GET", "/health")
            else:
                socket.create_connection(("127.0.0.1", o.port), 1).close()
            return time.sleep(1)
        except OSError:
            time.sleep(0.3)


def ask(port, method, path, slow=0):
    """One request and its answer; bytes a second that the client takes, if it is slow."""
    begun = time.perf_counter()
    with socket.socket() as s:
        s.settimeout(30)
        s.connect(("127.0.0.1", port))
        s.sendall(f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".encode())
        got, start = 0, 0.0
        while part := s.recv(262_144):
            got, start = got + len(part), start or time.perf_counter()
            if slow and (early := start + got / slow - time.perf_counter()) > 0:
                time.sleep(early)
    return time.perf_counter() - begun


def threads(o, one):
    until = time.perf_counter() + o.seconds

    def client(n):
        while time.perf_counter() < until:
            times.append(one(n))

    all_of_them = [threading.Thread(target=client, args=(n,)) for n in range(o.clients)]
    for t in all_of_them:
        t.start()
    for t in all_of_them:
        t.join()
    print_times(o.seconds)


def slow(o):
    until_open(o)
    threads(o, lambda n: ask(o.port, "POST", "/predict", slow=32e6))


def probes(o):
    """A balancer asks for health 25 times a second; somebody asks the model about once."""
    until_open(o)
    chance, until = random.Random(2), time.perf_counter() + o.seconds

    def health():
        while time.perf_counter() < until:
            ask(o.port, "GET", "/health")
            time.sleep(0.040)

    t = threading.Thread(target=health)
    t.start()
    while time.perf_counter() < until:
        times.append(ask(o.port, "POST", "/predict"))
        time.sleep(chance.expovariate(1.0))
    t.join()
    print_times(o.seconds)


def rpc(o):
    import grpc

    channel = grpc.insecure_channel(f"127.0.0.1:{o.port}")
    grpc.channel_ready_future(channel).result(60)
    call = channel.unary_unary("/shop.Detector/Detect")

    def one(_):
        begun = time.perf_counter()
        call(b"picture" * 1000)
        return time.perf_counter() - begun

    threads(o, one)


async def sockets(o, camera):
    import websockets
    from PIL import Image

    until_open(o)
    file = io.BytesIO()
    Image.effect_noise((640, 480), 40).convert("RGB").save(file, "JPEG")
    message = file.getvalue() if camera else random.Random(1).randbytes(2 * 16_000)
    until = time.perf_counter() + o.seconds

    async def client():
        async with websockets.connect(f"ws://127.0.0.1:{o.port}", max_size=None, open_timeout=30) as s:
            while time.perf_counter() < until:
                begun = time.perf_counter()
                await s.send(message)
                await s.recv()
                times.append(time.perf_counter() - begun)
                if camera:
                    await asyncio.sleep(max(0, 0.250 - times[-1]))

    await asyncio.gather(*(client() for _ in range(o.clients)))
    print_times(o.seconds)


class Broker:
    """As much of Redis as the workers use; `clients` jobs are always out."""

    def __init__(self, clients):
        self.lists, self.changed, self.sent = collections.defaultdict(collections.deque), asyncio.Condition(), {}
        self.number, self.clients = 0, clients

    def more(self):
        self.number += 1
        self.sent[b"%d" % self.number] = time.perf_counter()
        self.lists[b"jobs"].append(b"%d" % self.number)

    async def serve(self, reader, writer):
        if not self.number:
            for _ in range(self.clients):
                self.more()
        while line := await reader.readline():
            words = []
            for _ in range(int(line[1:])):
                size = int((await reader.readline())[1:])
                words.append((await reader.readexactly(size + 2))[:-2])
            name, key, *rest = words
            if name == b"RPUSH":
                for answer in rest:
                    times.append(time.perf_counter() - self.sent.pop(answer))
                    self.more()
                async with self.changed:
                    self.changed.notify_all()
                writer.write(b":1\r\n")
            elif name == b"LPOP":
                taken = [self.lists[key].popleft() for _ in range(min(int(rest[0]), len(self.lists[key])))]
                writer.write(b"*%d\r\n" % len(taken) + b"".join(b"$%d\r\n%s\r\n" % (len(t), t) for t in taken) if taken else b"*-1\r\n")
            elif name == b"BLPOP":
                async with self.changed:
                    await self.changed.wait_for(lambda: self.lists[key])
                job = self.lists[key].popleft()
                writer.write(b"*2\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n" % (len(key), key, len(job), job))
            await writer.drain()


async def redis(o):
    broker = Broker(o.clients)
    server = await asyncio.start_server(broker.serve, "127.0.0.1", o.port)
    for _ in range(550):
        if times:
            break
        await asyncio.sleep(0.1)
    times.clear()
    begun = time.perf_counter()
    await asyncio.sleep(o.seconds)
    print_times(time.perf_counter() - begun)
    sys.stdout.flush()
    server.close()


def bursts(o):
    """32 jobs each four seconds, once the worker has come."""
    jobs = queue.Queue()
    BaseManager.register("jobs", callable=lambda: jobs)
    server = BaseManager(("127.0.0.1", o.port), b"none").get_server()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    jobs.put(0)
    for _ in range(550):
        if jobs.empty():
            break
        time.sleep(0.1)
    until, sent = time.monotonic() + o.seconds, 0
    while time.monotonic() < until:
        for n in range(32):
            jobs.put(n)
        sent += 32
        time.sleep(4)
    print(json.dumps({"rate": sent / o.seconds, "p50": None}), flush=True)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("kind")
    p.add_argument("--port", type=int)
    p.add_argument("--seconds", type=float)
    p.add_argument("--clients", type=int, default=1)
    o = p.parse_args()
    if o.kind in ("ws", "camera"):
        asyncio.run(sockets(o, o.kind == "camera"))
    elif o.kind == "redis":
        asyncio.run(redis(o))
    else:
        {"slow": slow, "probes": probes, "rpc": rpc, "bursts": bursts}[o.kind](o)
    import os

    os._exit(0)
