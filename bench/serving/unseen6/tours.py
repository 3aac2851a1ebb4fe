"""In which order are parcels delivered? aiohttp; an order of a tour is checked against its schema."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

import jsonschema
import torch
from aiohttp import web
from parts import Net, infer

STOP = {
    "type": "object",
    "required": ["id", "at", "window"],
    "properties": {
        "id": {"type": "string", "minLength": 1, "maxLength": 40},
        "at": {"type": "array", "items": {"type": "number", "minimum": -180, "maximum": 180}, "minItems": 2, "maxItems": 2},
        "window": {"type": "object", "required": ["from", "to"], "properties": {"from": {"type": "integer"}, "to": {"type": "integer"}}},
        "weight": {"type": "number", "exclusiveMinimum": 0},
    },
}
TOUR = {"type": "object", "required": ["stops"], "properties": {"stops": {"type": "array", "items": STOP, "maxItems": 5000}, "car": {"type": "string"}}}
EXAMPLE = [{"id": f"parcel {n}", "at": [n % 90 / 3, n % 50 / 7], "window": {"from": 8, "to": 17}, "weight": 1 + n % 9} for n in range(2000)]
model = Net(0.030, 0.001).eval()
gpu = ThreadPoolExecutor(1)
check = jsonschema.Draft202012Validator(TOUR)


def points(tour):
    return torch.tensor([stop["at"] for stop in tour["stops"]])


async def order(request):
    tour = await request.json()
    tour.setdefault("stops", EXAMPLE)
    check.validate(tour)
    out = await asyncio.get_running_loop().run_in_executor(gpu, infer, model, points(tour)[None])
    return web.json_response({"first": tour["stops"][int(out[0, :, 0].argmin())]["id"]})


if __name__ == "__main__":
    app = web.Application(client_max_size=1 << 24)
    app.router.add_post("/tours", order)
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None)
