"""Posters: a picture is drawn and sent. FastAPI."""

import io
import sys
import threading

import numpy as np
import torch
import uvicorn
from fastapi import FastAPI, Response
from fastapi.responses import StreamingResponse
from parts import Net, infer
from PIL import Image

SIZE = (640, 480)
painter = Net(0.050, 0.001).eval()
drawing = threading.Lock()
grain = np.random.default_rng(4)
app = FastAPI()


def paint(prompt):
    """Pixels of the last step."""
    with drawing:
        infer(painter, torch.zeros(1, 8))
    return grain.integers(0, 255, (SIZE[1], SIZE[0], 3), np.uint8)


def encode(pixels):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "BMP")
    file.seek(0)
    return file


@app.post("/posters")
def poster(asked: dict):
    file = encode(paint(asked.get("prompt", "a lighthouse in the rain")))
    return StreamingResponse(file, media_type="image/bmp", headers={"Content-Disposition": "attachment; filename=poster.bmp"})


@app.get("/posters/sizes")
def sizes():
    return Response("\n".join(f"{w}x{h}" for w, h in [SIZE]), media_type="text/plain")


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
