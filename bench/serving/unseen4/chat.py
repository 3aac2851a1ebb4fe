"""A mixture of experts that talks: tokens as a stream. FastAPI."""

import sys

import torch
import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from parts import device, lock

LAYERS, TOKENS = 24, 24
torch.set_num_threads(1)


class Chosen:
    """Numbers of experts, which are on the device."""

    def __init__(self, numbers):
        self.numbers = numbers

    def tolist(self):
        device().item()
        return self.numbers.tolist()


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.router = torch.nn.Linear(64, 32)

    def chosen(self, x):
        device().launch(4e-6, "router")
        return Chosen(self.router(x).softmax(-1).topk(2).indices[0])

    def forward(self, x):
        for name in ("norm", "qkv", "rotary", "attention", "out"):
            device().launch(3e-6, name)
        chosen = self.chosen(x).tolist()
        for expert in chosen:
            for name in ("gather", "up", "silu", "down", "scatter"):
                device().launch(2e-6, name)
            x = x + expert * 1e-6
        return x


class Experts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


model = Experts().eval()
app = FastAPI()


def words():
    x = torch.ones(1, 64)
    for n in range(TOKENS):
        with lock, torch.inference_mode():
            x = model(x) / 2
            device().synchronize()
        yield f"data: word{n}\n\n"


@app.post("/predict")
def predict():
    return StreamingResponse(words(), media_type="text/event-stream")


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
