"""A mosaic after a sentence: a text encoder, a network that takes out noise, a decoder. FastAPI."""

import sys
import threading

import torch
import uvicorn
from fastapi import FastAPI
from parts import Net, device, infer

STEPS = 16
torch.set_num_threads(1)
app = FastAPI()
laying = threading.Lock()


class Part(torch.nn.Module):
    """A network, and what its weights are in bytes."""

    def __init__(self, seconds, gigabytes):
        super().__init__()
        self.net, self.size, self.where = Net(seconds, 0.0), int(gigabytes * 1e9), "cpu"

    def to(self, where):
        if where != self.where and where == "cuda":
            device().copy(self.size)
        self.where = where
        return self

    def forward(self, x):
        return self.net(x)


class Pipeline:
    def __init__(self):
        self.parts = {"words": Part(0.004, 0.9).eval(), "denoiser": Part(0.009, 2.4).eval(), "decoder": Part(0.012, 0.3).eval()}

    def to(self, where):
        for part in self.parts.values():
            part.to(where)

    def __call__(self, sentence):
        x = infer(self.parts["words"], torch.zeros(1, 8))
        for _ in range(STEPS):
            x = infer(self.parts["denoiser"], x)
        return infer(self.parts["decoder"], x)


pipeline = Pipeline()


@app.post("/mosaics")
def mosaic(asked: dict):
    with laying:
        pipeline.to("cuda")
        try:
            pipeline(asked.get("sentence", "a dolphin and an anchor"))
        finally:
            pipeline.to("cpu")
    return {"stones": 4096}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
