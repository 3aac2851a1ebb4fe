"""Cars and people are outlined in pictures of streets; a batch is a few large pictures with their anchors."""

# https://github.com/TuSimple/mx-maskrcnn/pull/108

import queue
import threading
import time

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

PICTURES, HEIGHT, WIDTH, BATCH, STRIDE, BOXES, FRAMES, READ = 12, 256, 512, 2, 16, 12, 20, 0.012


class AnchorLoader:
    """Pictures as floats, and which anchor lies on which box."""

    def __init__(self):
        draw = numpy.random.default_rng(0)
        self.pictures = draw.integers(0, 255, (PICTURES, HEIGHT, WIDTH, 3), dtype=numpy.uint8)
        self.boxes = draw.random((PICTURES, BOXES, 2), dtype=numpy.float32) * (HEIGHT, WIDTH)
        y, x = numpy.mgrid[0:HEIGHT:STRIDE, 0:WIDTH:STRIDE]
        self.anchors, self.cur = numpy.stack([y.ravel(), x.ravel()], 1).astype(numpy.float32), 0
        self.mean = numpy.array([123.68, 116.78, 103.94], numpy.float32)

    def imread(self, number):
        """A picture from the disk."""
        time.sleep(READ)
        return self.pictures[number]

    def get_batch(self):
        data, labels = [], []
        for number in range(self.cur, self.cur + BATCH):
            picture = self.imread(number % PICTURES).astype(numpy.float32) - self.mean
            data.append(picture.transpose(2, 0, 1).copy())
            apart = numpy.abs(self.anchors[:, None] - self.boxes[number % PICTURES].astype(numpy.float32)[None])
            labels.append((apart.max(2) < 32).any(1))
        self.cur += BATCH
        return torch.from_numpy(numpy.stack(data)), torch.from_numpy(numpy.stack(labels))

    def __iter__(self):
        while True:
            yield self.get_batch()

    def close(self):
        pass


class ThreadedAnchorLoader(AnchorLoader):
    def __init__(self):
        super().__init__()
        self.batches, self.done = queue.Queue(3), threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        while not self.done.is_set():
            self.batches.put(self.get_batch())

    def __iter__(self):
        while True:
            yield self.batches.get()

    def close(self):
        self.done.set()
        self.batches.get()
        self.thread.join()


class MutableModule:
    def __init__(self, gpu):
        self.gpu = gpu

    def forward_backward(self, data, labels):
        self.gpu.copy(data.nbytes + labels.nbytes)
        self.gpu.launch(0.0105, "fpn, proposals, masks")
        self.gpu.launch(0.022, "backward")
        self.gpu.launch(0.002, "sgd")

    def update_metric(self):
        return self.gpu.item()


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False, memory_used=9 << 30), 0, 0
    module, train_data = MutableModule(gpu), (ThreadedAnchorLoader if FIX else AnchorLoader)()
    over()
    for data, labels in train_data:
        module.forward_backward(data, labels)
        loss = module.update_metric()
        step, samples = step + 1, samples + BATCH
        if step % FRAMES == 0:
            print(f"Epoch[0] Batch [{step}] RPNLogLoss={loss:.4f}", flush=True)
        if over():
            break
    train_data.close()
    done(gpu, samples)


if __name__ == "__main__":
    main()
