"""A transformer learns to fill in tables; the tables lie in one large file."""

# https://dev.to/stprnvsh/our-gpu-was-idle-77-of-the-time-heres-how-we-fixed-it-56oj

import os
import queue
import tempfile
import threading

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

TABLES, ROWS, FEATURES, BATCH = 256, 5000, 20, 48


def write_tables(path):
    draw, tables = numpy.random.default_rng(0), numpy.memmap(path, numpy.float32, "w+", shape=(TABLES, ROWS, FEATURES))
    for table in range(TABLES):
        tables[table] = draw.random((ROWS, FEATURES), dtype=numpy.float32)
    tables.flush()


class PriorDumpDataLoader:
    """Slices of the file, one after the other, on the device."""

    def __init__(self, path, gpu):
        self.tables = numpy.memmap(path, numpy.float32, "r", shape=(TABLES, ROWS, FEATURES))
        self.gpu, self.ptr = gpu, 0

    def read(self):
        x = torch.from_numpy(numpy.array(self.tables[self.ptr : self.ptr + BATCH]))
        self.ptr = (self.ptr + BATCH) % (TABLES - BATCH)
        return x

    def __iter__(self):
        while True:
            x = self.read()
            self.gpu.copy(x.nbytes)
            yield x

    def close(self):
        pass


class PrefetchingLoader(PriorDumpDataLoader):
    """The next slices are read into pinned memory by a thread, and copied without waiting."""

    def __init__(self, path, gpu):
        super().__init__(path, gpu)
        self.ready, self.done = queue.Queue(2), threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        while not self.done.is_set():
            x = self.read()
            while not self.done.is_set():
                try:
                    self.ready.put(x, timeout=0.2)
                    break
                except queue.Full:
                    continue

    def __iter__(self):
        while True:
            x = self.ready.get()
            self.gpu.copy(x.nbytes, pinned=True, non_blocking=True)
            yield x

    def close(self):
        self.done.set()
        self.thread.join()


class NanoTabPFN:
    def __init__(self, gpu):
        self.gpu = gpu

    def train_step(self, x):
        self.gpu.launch(0.0038, "attention over rows and features")
        self.gpu.launch(0.0072, "cross entropy, backward, adamw")
        return self.gpu.item()


def main():
    torch.set_num_threads(1)
    gpu, samples, step, total = Device(spin=False, memory_used=12 << 30), 0, 0, 0.0
    model = NanoTabPFN(gpu)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "300k_150x5_2.h5")
        write_tables(path)
        prior = (PrefetchingLoader if FIX else PriorDumpDataLoader)(path, gpu)
        for x in prior:
            total += model.train_step(x)
            step, samples = step + 1, samples + BATCH
            if step % 25 == 0:
                print(f"step {step} | mean loss {total / step:5.2f}", flush=True)
            if over():
                break
        prior.close()
        done(gpu, samples)


if __name__ == "__main__":
    main()
