"""Things that look like this one: pictures come from a store. Tornado."""

import asyncio
import os
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import torch
from parts import Net, infer
from tornado.concurrent import run_on_executor
from tornado.web import Application, RequestHandler

STORE = os.environ["SERVICE_URL"] + "/bucket/"
model = Net(0.022, 0.001).eval()
gpu = ThreadPoolExecutor(1)


class Predict(RequestHandler):
    executor = ThreadPoolExecutor(max_workers=1)

    @run_on_executor
    def fetch(self, name):
        with urllib.request.urlopen(STORE + name) as answer:
            return answer.read()

    async def post(self):
        picture = await self.fetch("1234.jpg")
        await asyncio.get_running_loop().run_in_executor(gpu, infer, model, torch.zeros(1, 8))
        self.write({"alike": [1, 2, 3], "bytes": len(picture)})


async def main():
    Application([("/predict", Predict)]).listen(int(sys.argv[1]), "127.0.0.1")
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
