"""Abstracts of papers. No framework: an application of ASGI, and what others would put into middleware."""

import asyncio
import json
import sys
import time

import torch
import uvicorn
from parts import Net, infer

PER_SECOND = 7
model = Net(0.035, 0.001).eval()
gpu = asyncio.Lock()


async def read_body(receive):
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body


async def respond(send, status, answer):
    body = json.dumps(answer).encode()
    await send({"type": "http.response.start", "status": status,
                "headers": [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]})
    await send({"type": "http.response.body", "body": body})


class Bucket:
    """Lets requests drip through, so many a second."""

    def __init__(self, app, per_second):
        self.app, self.gap, self.free_at = app, 1 / per_second, 0.0

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http":
            now = time.monotonic()
            self.free_at = max(self.free_at, now) + self.gap
            await asyncio.sleep(self.free_at - self.gap - now)
        await self.app(scope, receive, send)


class Abstracts:
    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return
        if scope["path"] != "/abstract":
            return await respond(send, 404, {"error": "no such page"})
        text = json.loads(await read_body(receive) or b"{}").get("text", "")
        async with gpu:
            await asyncio.to_thread(infer, model, torch.zeros(1, 8))
        await respond(send, 200, {"abstract": text[:200]})


app = Bucket(Abstracts(), PER_SECOND)

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", lifespan="off")
