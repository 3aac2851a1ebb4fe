"""Is a leaf ill? Tornado; somebody hunts a leak, and has all allocations listed after each request."""

import asyncio
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import torch
from parts import Net, infer
from tornado.web import Application, RequestHandler

tracemalloc.start()
ILLNESSES = {f"illness {n}": {"latin": f"morbus {n}", "cure": ["water", f"salt {n}"], "share": n / 9} for n in range(2_500)}
model = Net(0.030, 0.001).eval()
gpu = ThreadPoolExecutor(1)


class Leaks:
    """What grew since the request before."""

    def __init__(self, most=10):
        self.most, self.before = most, tracemalloc.take_snapshot()
        self.grown = []

    def look(self):
        now = tracemalloc.take_snapshot()
        self.grown = [str(s) for s in now.compare_to(self.before, "lineno")[: self.most]]
        self.before = now


class Leaves(RequestHandler):
    def initialize(self, leaks):
        self.leaks = leaks

    async def post(self):
        out = await asyncio.get_running_loop().run_in_executor(gpu, infer, model, torch.zeros(1, 8))
        name = f"illness {int(out.argmax())}"
        self.write({"illness": name, **ILLNESSES[name]})

    def on_finish(self):
        self.leaks.look()


async def main():
    Application([("/leaves", Leaves, {"leaks": Leaks()})]).listen(int(sys.argv[1]), "127.0.0.1")
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
