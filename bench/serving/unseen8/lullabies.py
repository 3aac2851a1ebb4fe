"""Sings a lullaby, sample by sample, as WaveRNN does. Tornado."""

import asyncio
import json
import sys
import threading

import torch
import tornado.web
from parts import device

SAMPLES = 900
torch.set_num_threads(1)
singing = threading.Lock()


class Cell(torch.nn.Module):
    """A layer of one step: a short kernel."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds, self.weight = seconds, torch.nn.Parameter(torch.ones(8))

    def forward(self, x):
        device().launch(self.seconds, "elementwise")
        return x * self.weight


class Singer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = torch.nn.ModuleList([Cell(3e-6), Cell(6e-6), Cell(6e-6), Cell(4e-6), Cell(4e-6), Cell(2e-6)])

    def forward(self, x):
        sound = []
        for _ in range(SAMPLES):
            for cell in self.cells:
                x = cell(x)
            sound.append(x)
        return torch.stack(sound)


singer = Singer().eval()


def sing(mood):
    with singing, torch.inference_mode():
        sound = singer(torch.full((1, 8), mood))
        device().synchronize(spin=False)
        return len(sound)


class Lullaby(tornado.web.RequestHandler):
    async def post(self):
        asked = json.loads(self.request.body or b"{}")
        samples = await asyncio.get_running_loop().run_in_executor(None, sing, float(asked.get("mood", 1.0)))
        self.write({"samples": samples})


async def main():
    tornado.web.Application([("/lullabies", Lullaby)]).listen(int(sys.argv[1]), "127.0.0.1")
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
