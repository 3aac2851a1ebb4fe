"""What will a factory's sensors show? A table is uploaded in a form. Starlette."""

import asyncio
import csv
import io
import sys

import torch
import uvicorn
from parts import Net, infer
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

NAMES, LAST = ("minute", "level", "value", "sensor"), 512
model = Net(0.040, 0.001).eval()
gpu = asyncio.Lock()


def read_table(text):
    """Rows of a table that has no head."""
    return [row for row in csv.DictReader(io.StringIO(text), fieldnames=NAMES) if row["value"]]


def last_of(rows):
    """Only the end of a table matters to the model."""
    return torch.tensor([[float(row[name]) for name in NAMES[:3]] for row in rows[-LAST:]])


async def forecast(request):
    async with request.form(max_part_size=1 << 28) as form:
        table = (await form["table"].read()).decode()
    x = last_of(read_table(table))
    async with gpu:
        await asyncio.to_thread(infer, model, x[None])
    return JSONResponse({"bytes": len(table), "next": x.mean(0).tolist()})


async def health(request):
    return JSONResponse({"status": "ok"})


app = Starlette(routes=[Route("/tables", forecast, methods=["POST"]), Route("/health", health)])

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
