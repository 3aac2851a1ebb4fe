"""Who sings out of tune? Singers send a second of sound, again and again. websockets, and one task that has the device."""

import asyncio
import json
import sys

import numpy as np
import torch
import websockets
from parts import Net, infer

MOST, NOTES = 6, 88
torch.set_num_threads(1)
model = Net(0.180, 0.030).eval()
singing: asyncio.Queue = asyncio.Queue()


def spectrum(message):
    """How loud each note of a piano is."""
    sound = np.frombuffer(message, np.int16).astype(np.float32) / 32768
    power = np.abs(np.fft.rfft(sound)) ** 2
    return torch.from_numpy(np.add.reduceat(power, np.linspace(0, len(power) - 1, NOTES).astype(int)))


async def judge():
    """A pass for up to six singers: those who sang while the device was busy."""
    while True:
        batch = [await singing.get()]
        while len(batch) < MOST and not singing.empty():
            batch.append(singing.get_nowait())
        out = await asyncio.to_thread(infer, model, torch.stack([x for x, _ in batch]))
        for (_, answer), row in zip(batch, out):
            answer.set_result(int(row.argmax()))


async def listen(socket):
    async for message in socket:
        answer = asyncio.get_running_loop().create_future()
        singing.put_nowait((spectrum(message), answer))
        await socket.send(json.dumps({"note": await answer}))


async def main():
    judging = asyncio.create_task(judge())
    async with websockets.serve(listen, "127.0.0.1", int(sys.argv[1]), max_size=1 << 20):
        await judging


if __name__ == "__main__":
    asyncio.run(main())
