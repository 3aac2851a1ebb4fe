"""Four loading threads of the program's own share one lock around all of the work (yuanluya/dbnet_tensorflow#1)."""

import queue
import threading
import time

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device


class Loader:
    def __init__(self, threads):
        self.lock, self.ready, self.next = threading.Lock(), queue.Queue(8), 0
        for _ in range(threads):
            threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while not over():
            if FIX:
                with self.lock:
                    self.next += 1
                batch = self.get_data(self.next)
            else:
                with self.lock:
                    self.next += 1
                    batch = self.get_data(self.next)
            self.ready.put(batch)

    def get_data(self, number):
        time.sleep(0.04)  # reads and decodes outside of Python's interpreter lock
        return numpy.zeros((16, 3, 64, 64), numpy.float32)


def main():
    gpu, loader, samples = Device(), Loader(4), 0
    parameter = torch.nn.Parameter(torch.zeros(8))
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    while not over():
        batch = loader.ready.get()
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.015, "step")
        parameter.grad = torch.zeros(8)
        optimizer.step()
        samples += len(batch)
    done(gpu, samples)


if __name__ == "__main__":
    main()
