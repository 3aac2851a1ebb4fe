"""A load generator: Poisson, bursty or closed arrivals, and what each request took, as JSON on stdout.

    python bench/serving/load.py --port 8000 --poisson 20 --seconds 20
    python bench/serving/load.py --port 8000 --bursts 20 --burst 10     # 20 a second in the mean, ten at a time
    python bench/serving/load.py --port 8000 --clients 8                # each asks again once it has its answer

Arrivals are drawn from a seed, so that two runs ask at the same times. A request that comes while others are answered
gets its own connection: the generator never waits for the server.
"""

import argparse
import asyncio
import json
import random
import time


def body_of(text):
    """A request's body: the text, or a list of N numbers for "floats:N"."""
    kind, _, count = text.partition(":")
    return json.dumps({"x": [i / 7 for i in range(int(count))]}) if kind == "floats" else text


async def ask(port, path, body, kept):
    """Ask once; seconds from the send to the last byte."""
    begun = time.perf_counter()
    reader, writer = kept.pop() if kept else await asyncio.open_connection("127.0.0.1", port)
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()
    status = await reader.readline()
    length, chunked = 0, False
    while (line := await reader.readline()) not in (b"\r\n", b""):
        name, _, value = line.decode().partition(":")
        if name.lower() == "content-length":
            length = int(value)
        chunked = chunked or name.lower() == "transfer-encoding"
    if chunked:
        while size := int((await reader.readline()).strip() or b"0", 16):
            await reader.readexactly(size + 2)
        await reader.readline()
    else:
        await reader.readexactly(length)
    took = time.perf_counter() - begun
    kept.append((reader, writer))
    if b" 200 " not in status:
        raise ConnectionError(status.decode().strip())
    return took


def arrivals(o):
    """When to ask, seconds from the start."""
    chance, at = random.Random(o.seed), 0.0
    while at < o.seconds:
        if o.bursts:
            at += chance.expovariate(o.bursts / o.burst)
            yield from [at] * o.burst
        else:
            at += chance.expovariate(o.poisson)
            yield at


async def main(o):
    kept, times, failed, waiting = [], [], 0, set()
    body = body_of(o.body).encode()

    async def once():
        nonlocal failed
        try:
            times.append(await ask(o.port, o.path, body, kept))
        except (OSError, ValueError, asyncio.IncompleteReadError):
            failed += 1

    start = time.perf_counter()
    if o.clients:

        async def client():
            while time.perf_counter() - start < o.seconds:
                await once()

        await asyncio.gather(*(client() for _ in range(o.clients)))
    else:
        for at in arrivals(o):
            await asyncio.sleep(max(0, start + at - time.perf_counter()))
            task = asyncio.create_task(once())
            waiting.add(task)
            task.add_done_callback(waiting.discard)
        if waiting:
            await asyncio.wait(waiting, timeout=o.drain)
    took = time.perf_counter() - start
    times.sort()
    at = lambda share: times[min(len(times) - 1, int(share * len(times)))] if times else None
    print(json.dumps({"answered": len(times), "failed": failed, "left": len(waiting), "seconds": took, "rate": len(times) / took,
                      "mean": sum(times) / len(times) if times else None, "p50": at(0.5), "p90": at(0.9), "p99": at(0.99)}))


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--port", type=int, required=True)
    p.add_argument("--path", default="/predict")
    p.add_argument("--body", default="{}")
    p.add_argument("--poisson", type=float, default=10.0, help="requests a second")
    p.add_argument("--bursts", type=float, default=0.0, help="requests a second, in bursts")
    p.add_argument("--burst", type=int, default=10, help="requests of a burst")
    p.add_argument("--clients", type=int, default=0, help="closed loop: so many clients")
    p.add_argument("--seconds", type=float, default=20.0)
    p.add_argument("--drain", type=float, default=5.0, help="seconds to wait for the last answers")
    p.add_argument("--seed", type=int, default=1)
    asyncio.run(main(p.parse_args()))
