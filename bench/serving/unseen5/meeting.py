"""Minutes of meetings. gRPC with asyncio: silence is cut out, and the rest is transcribed."""

import asyncio
import sys

import grpc
import numpy as np
import torch
from parts import Net, infer

RATE, FRAME = 16_000, 160
model = Net(0.040, 0.001).eval()
talk = np.random.default_rng(7).normal(0, 900, RATE * 45)
talk[RATE * 5 : RATE * 12] *= 0.02
SOUND = talk.astype(np.int16)


class Detector:
    """Which frames of 10 ms hold speech: loud, or hissing, for long enough."""

    def __init__(self, loud=120.0, hiss=0.35, hang=20):
        self.loud, self.hiss, self.hang = loud, hiss, hang

    def is_speech(self, frame):
        samples = frame.astype(np.float32)
        energy = np.sqrt(np.mean(samples * samples))
        crossings = np.mean(np.abs(np.diff(np.sign(samples)))) / 2
        return energy > self.loud or (energy > self.loud / 4 and crossings > self.hiss)

    def segments(self, sound):
        found, begun, silent = [], None, 0
        for at in range(0, len(sound) - FRAME, FRAME):
            if self.is_speech(sound[at : at + FRAME]):
                begun, silent = at if begun is None else begun, 0
            elif begun is not None:
                silent += 1
                if silent > self.hang:
                    found.append((begun, at))
                    begun = None
        return found if begun is None else [*found, (begun, len(sound))]


detector = Detector()
device_is_free = asyncio.Lock()


async def transcribe(request, context):
    parts = detector.segments(SOUND)
    async with device_is_free:
        await asyncio.to_thread(infer, model, torch.zeros(len(parts), 8))
    return b"minutes"


async def main():
    server = grpc.aio.server()
    handler = grpc.unary_unary_rpc_method_handler(transcribe)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("office.Minutes", {"Transcribe": handler}),))
    server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}")
    await server.start()
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(main())
