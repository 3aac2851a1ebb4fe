"""A small server that works as Triton does with a back end in Python. aiohttp."""

import asyncio
import queue
import sys
import threading
from concurrent.futures import Future
from dataclasses import dataclass, field

import torch
from aiohttp import web
from parts import Net, infer

MAX_BATCH_SIZE, QUEUE_DELAY = 16, 0.005


@dataclass
class Request:
    tensor: torch.Tensor
    answer: Future = field(default_factory=Future)


class Model:
    """The back end: what the user writes."""

    def initialize(self):
        self.net = Net(0.058, 0.001).eval()

    def model(self, batch):
        return infer(self.net, batch)

    def execute(self, requests):
        return [self.model(request.tensor[None]) for request in requests]


def schedule(todo):
    """The server's part: gathers requests, hands them to the back end, sends its answers."""
    backend = Model()
    backend.initialize()
    while True:
        requests = [todo.get()]
        while len(requests) < MAX_BATCH_SIZE:
            try:
                requests.append(todo.get(timeout=QUEUE_DELAY))
            except queue.Empty:
                break
        for request, answer in zip(requests, backend.execute(requests)):
            request.answer.set_result(answer)


todo = queue.Queue()


async def predict(asked):
    await asked.read()
    request = Request(torch.zeros(8))
    todo.put(request)
    await asyncio.wrap_future(request.answer)
    return web.json_response({"class": 0})


if __name__ == "__main__":
    threading.Thread(target=schedule, args=(todo,), daemon=True).start()
    app = web.Application()
    app.router.add_post("/predict", predict)
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None)
