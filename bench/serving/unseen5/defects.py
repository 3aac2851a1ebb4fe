"""Scratches on sheets of metal, a handler as TorchServe's: preprocess, inference, postprocess. Tornado in front of it."""

import asyncio
import queue
import sys
import threading
from concurrent.futures import Future

import cv2
import numpy as np
import torch
from parts import Net, infer
from tornado.web import Application, RequestHandler

BATCH_SIZE, MAX_BATCH_DELAY = 12, 0.030
SHEET = (1400, 1100)
cv2.setNumThreads(1)
torch.set_num_threads(1)
camera = np.random.default_rng(5).integers(60, 190, (SHEET[1], SHEET[0], 3), np.uint8)
SENT = cv2.imencode(".jpg", camera, [cv2.IMWRITE_JPEG_QUALITY, 85])[1].tobytes()


class DefectHandler:
    """The part that the user writes."""

    def initialize(self):
        self.model = Net(0.090, 0.006).eval()
        self.mean, self.deviation = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])

    def preprocess(self, data):
        sheets = []
        for row in data:
            image = cv2.imdecode(np.frombuffer(row, np.uint8), cv2.IMREAD_COLOR)
            image = cv2.cvtColor(cv2.resize(image, (448, 448), interpolation=cv2.INTER_AREA), cv2.COLOR_BGR2RGB)
            sheets.append((image.astype(np.float32) / 255 - self.mean) / self.deviation)
        return torch.from_numpy(np.stack(sheets)).permute(0, 3, 1, 2)

    def inference(self, batch):
        return infer(self.model, batch)

    def postprocess(self, outputs):
        return [{"scratches": 0} for _ in range(len(outputs))]

    def handle(self, data):
        return self.postprocess(self.inference(self.preprocess(data)))


class Frontend:
    """Gathers requests and hands them to the handler, a batch after the other."""

    def __init__(self):
        self.jobs = queue.Queue()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        handler = DefectHandler()
        handler.initialize()
        while True:
            batch = [self.jobs.get()]
            while len(batch) < BATCH_SIZE:
                try:
                    batch.append(self.jobs.get(timeout=MAX_BATCH_DELAY))
                except queue.Empty:
                    break
            for (_, answer), result in zip(batch, handler.handle([data for data, _ in batch])):
                answer.set_result(result)

    async def submit(self, data):
        answer = Future()
        self.jobs.put((data, answer))
        return await asyncio.wrap_future(answer)


class Predictions(RequestHandler):
    def initialize(self, frontend):
        self.frontend = frontend

    async def post(self):
        data = self.request.body if len(self.request.body) > 1000 else SENT
        self.write(await self.frontend.submit(data))


async def main():
    Application([("/predictions/defects", Predictions, {"frontend": Frontend()})]).listen(int(sys.argv[1]), "127.0.0.1")
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
