"""Translations: FastAPI in one process, the model in another, and a manager has a dictionary of the answers."""

import asyncio
import multiprocessing
import sys
import uuid
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI, HTTPException

CHECK_EVERY, GIVE_UP = 0.3, 60


def work(tasks, results):
    """The process that owns the device."""
    import torch
    from parts import Net, infer

    torch.set_num_threads(1)
    model = Net(0.026, 0.001).eval()
    while True:
        name, sentence = tasks.get()
        infer(model, torch.zeros(1, 8))
        results[name] = {"status": "done", "text": sentence[::-1]}


class TranslationService:
    def __init__(self):
        context = multiprocessing.get_context("spawn")
        self.manager = context.Manager()
        self.tasks, self.results = context.Queue(), self.manager.dict()
        self.worker = context.Process(target=work, args=(self.tasks, self.results), daemon=True)
        self.worker.start()

    def submit(self, sentence):
        name = uuid.uuid4().hex
        self.tasks.put((name, sentence))
        return name

    async def wait_for(self, name):
        waited = 0.0
        while waited < GIVE_UP:
            result = self.results.pop(name, None)
            if result is not None:
                return result
            await asyncio.sleep(CHECK_EVERY)
            waited += CHECK_EVERY
        raise HTTPException(504, "the translation takes too long")

    def close(self):
        self.worker.terminate()
        self.manager.shutdown()


service = None


@asynccontextmanager
async def lifespan(_):
    global service
    service = TranslationService()
    yield
    service.close()


app = FastAPI(lifespan=lifespan)


@app.post("/translate")
async def translate(asked: dict):
    name = service.submit(asked.get("text", "where is the station"))
    return await service.wait_for(name)


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
