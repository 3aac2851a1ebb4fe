"""Loads that ../load.py does not have: python bench/serving/unseen8/clients.py KIND --port PORT --seconds S [--clients N].

uploads  N clients ask with a small body, and PHONES more send a large one slowly
stations ZeroMQ: jobs lie ready for a worker that comes to the port, and what it stores is confirmed after --confirm seconds
talkers  a websocket: N people speak, listen to the answer for --listen seconds, and speak again
"""

import argparse
import asyncio
import json
import os
import socket
import threading
import time

times = []


def print_times(seconds):
    times.sort()
    print(json.dumps({"rate": len(times) / seconds, "p50": times[len(times) // 2] if times else None}), flush=True)


def post(o, size, pause=0.0, seconds=60.0):
    """A request with a body of `size` bytes, in 16 pieces with a pause before each; whether it was answered."""
    try:
        with socket.create_connection(("127.0.0.1", o.port), seconds) as s:
            s.sendall(f"POST {o.path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {size}\r\n\r\n".encode())
            for _ in range(16 if pause else 1):
                time.sleep(pause)
                s.sendall(bytes(size // 16 if pause else size))
            answer = b""
            while part := s.recv(65_536):
                answer += part
            return answer.startswith(b"HTTP/1.1 200")
    except OSError:
        return False


def uploads(o):
    until = time.monotonic() + 100
    while time.monotonic() < until and not post(o, 2000, seconds=20):
        time.sleep(0.3)
    end = time.perf_counter() + o.seconds

    def client():
        while (begun := time.perf_counter()) < end:
            if post(o, 2000):
                times.append(time.perf_counter() - begun)

    def phone():
        while time.perf_counter() < end:
            post(o, 320_000, pause=0.03)
            time.sleep(0.2)

    threads = [threading.Thread(target=client, daemon=True) for _ in range(o.clients)]
    threads += [threading.Thread(target=phone, daemon=True) for _ in range(o.phones)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(o.seconds + 30)
    print_times(o.seconds)


async def stations(o):
    import zmq
    import zmq.asyncio

    broker = zmq.asyncio.Context().socket(zmq.ROUTER)
    broker.bind(f"tcp://127.0.0.1:{o.port}")
    number, begun, end = 0, 0.0, None

    async def confirm(worker, job):
        await asyncio.sleep(o.confirm)
        await broker.send_multipart([worker, b"stored", job])

    pending = set()
    while end is None or time.perf_counter() < end:
        if not await broker.poll(1000 if end else 100_000):
            continue
        worker, kind, *rest = await broker.recv_multipart()
        if kind == b"next":
            number, begun = number + 1, time.perf_counter()
            await broker.send_multipart([worker, b"job", b"%d" % number])
        else:
            end = end or time.perf_counter() + o.seconds
            times.append(time.perf_counter() - begun)
            pending.add(task := asyncio.create_task(confirm(worker, rest[0])))
            task.add_done_callback(pending.discard)
    print_times(o.seconds)


async def talkers(o):
    import websockets

    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", o.port), 1).close()
            break
        except OSError:
            await asyncio.sleep(0.3)
    end = time.perf_counter() + o.seconds

    async def person(n):
        async with websockets.connect(f"ws://127.0.0.1:{o.port}{o.path}", max_size=None, open_timeout=60) as s:
            await asyncio.sleep(0.7 * n)
            while (begun := time.perf_counter()) < end:
                await s.send(bytes(16_000))
                heard = 0
                while heard < 4:
                    await s.recv()
                    heard += 1
                times.append(time.perf_counter() - begun)
                await asyncio.sleep(o.listen)

    await asyncio.gather(*(person(n) for n in range(o.clients)))
    print_times(o.seconds)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("kind", choices=["uploads", "stations", "talkers"])
    p.add_argument("--port", type=int, required=True)
    p.add_argument("--path", default="/")
    p.add_argument("--seconds", type=float, default=20)
    p.add_argument("--clients", type=int, default=1)
    p.add_argument("--phones", type=int, default=4)
    p.add_argument("--confirm", type=float, default=0.090)
    p.add_argument("--listen", type=float, default=1.6)
    o = p.parse_args()
    if o.kind == "uploads":
        uploads(o)
    else:
        asyncio.run({"stations": stations, "talkers": talkers}[o.kind](o))
    os._exit(0)
