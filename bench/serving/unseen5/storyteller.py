"""Stories, word by word, as they come. FastAPI, events of the server."""

import asyncio
import json
import random
import sys

import torch
import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from parts import Net, infer

WORDS = "the fox saw a boat on the lake and asked the moon for a lamp".split()
model = Net(0.007, 0.0002).eval()
telling = asyncio.Lock()
app = FastAPI()


class Story:
    def __init__(self, opening, words):
        self.state, self.words = torch.zeros(1, 8), words
        self.chance = random.Random(opening)

    async def __aiter__(self):
        for _ in range(self.words):
            self.state = await asyncio.to_thread(infer, model, self.state)
            yield self.chance.choice(WORDS)


def event(data):
    return f"data: {json.dumps(data)}\n\n"


async def events(story):
    count = 0
    async with telling:
        async for word in story:
            count += 1
            yield event({"word": word})
            await asyncio.sleep(0.018)
    yield event({"words": count})


@app.post("/stories")
async def tell(asked: dict):
    story = Story(asked.get("opening", "once"), min(int(asked.get("words", 30)), 200))
    return StreamingResponse(events(story), media_type="text/event-stream")


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
