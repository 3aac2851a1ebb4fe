"""Websockets and aiohttp: python bench/serving/unseen2/sockets.py CASE PORT, and a load: sockets.py load --port PORT --clients N."""

import asyncio
import json
import os
import sys
import time


async def serve(case, port):
    import numpy as np
    import torch
    import websockets
    from parts import Net, infer

    net = Net().eval()
    window = np.hanning(400)

    def spectrum(sound):
        rows = []
        for at in range(0, len(sound) - 400, 40):
            rows.append(np.log1p(np.abs(np.fft.rfft(sound[at : at + 400] * window))))  # the cause of ws-spectrum
        return np.stack(rows)

    async def talk(socket):
        async for message in socket:
            if case == "ws-spectrum":
                spectrum(np.frombuffer(message, np.int16).astype(np.float32))
            infer(net, torch.zeros(1, 8))
            await socket.send('{"text": ""}')

    async with websockets.serve(talk, "127.0.0.1", port, max_size=None):
        await asyncio.Future()


def downstream(port):
    """aiohttp: another service is awaited for each request, with a session."""
    import aiohttp
    import torch
    from aiohttp import web
    from parts import Net, infer

    net = Net().eval()

    async def features(request):
        await asyncio.sleep(0.140)
        return web.json_response({})

    async def predict(request):
        await request.read()
        async with request.app["session"].get(f"http://127.0.0.1:{port + 1}/features") as answer:
            await answer.read()  # the cause of aio-await
        infer(net, torch.zeros(1, 8))
        return web.json_response({"class": 0})

    async def open_session(app):
        app["session"] = aiohttp.ClientSession()
        yield
        await app["session"].close()

    app = web.Application()
    if os.fork() == 0:
        app.router.add_get("/features", features)
        web.run_app(app, host="127.0.0.1", port=port + 1, print=None)
        os._exit(0)
    app.cleanup_ctx.append(open_session)
    app.router.add_post("/predict", predict)
    web.run_app(app, host="127.0.0.1", port=port, print=None)


async def load(port, clients, seconds, think):
    import websockets

    sound, times = os.urandom(2 * 48_000), []

    async def first():
        for _ in range(240):
            try:
                return await websockets.connect(f"ws://127.0.0.1:{port}")
            except OSError:
                await asyncio.sleep(0.25)

    await (await first()).close()
    until = time.perf_counter() + seconds

    async def client():
        async with websockets.connect(f"ws://127.0.0.1:{port}") as socket:
            while (begun := time.perf_counter()) < until:
                await socket.send(sound)
                await socket.recv()
                times.append(time.perf_counter() - begun)
                await asyncio.sleep(think)

    await asyncio.gather(*(client() for _ in range(clients)))
    times.sort()
    print(json.dumps({"rate": len(times) / seconds, "p50": times[len(times) // 2] if times else None}))


if __name__ == "__main__":
    if sys.argv[1] == "load":
        at = {sys.argv[i]: sys.argv[i + 1] for i in range(2, len(sys.argv) - 1)}
        asyncio.run(load(int(at["--port"]), int(at["--clients"]), float(at["--seconds"]), float(at.get("--think", 0))))
    elif sys.argv[1] == "aio-await":
        downstream(int(sys.argv[2]))
    else:
        asyncio.run(serve(sys.argv[1], int(sys.argv[2])))
