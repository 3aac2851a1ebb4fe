"""The worth of an advertisement. Tornado; what has come is judged together, at each tick."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

import torch
from parts import Net, infer
from tornado.escape import json_decode
from tornado.ioloop import PeriodicCallback
from tornado.web import Application, RequestHandler

TICK, MOST = 220, 64
gpu = ThreadPoolExecutor(1)


class Auction:
    def __init__(self, model):
        self.model, self.open = model, []
        PeriodicCallback(self.flush, TICK).start()

    def bid(self, features):
        answer = asyncio.get_running_loop().create_future()
        self.open.append((features, answer))
        return answer

    async def flush(self):
        taken, self.open = self.open[:MOST], self.open[MOST:]
        if not taken:
            return
        worth = await asyncio.get_running_loop().run_in_executor(gpu, infer, self.model, torch.stack([x for x, _ in taken]))
        for (_, answer), row in zip(taken, worth):
            answer.set_result(float(row.sum()))


class Bids(RequestHandler):
    def initialize(self, auction):
        self.auction = auction

    async def post(self):
        asked = json_decode(self.request.body or b"{}")
        features = torch.tensor([float(asked.get(name, 1.0)) for name in ("width", "height", "age", "hour")])
        self.write({"worth": await self.auction.bid(features)})


async def main():
    Application([("/bids", Bids, {"auction": Auction(Net(0.020, 0.0005).eval())})]).listen(int(sys.argv[1]), "127.0.0.1")
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
