"""A language model is trained from scratch; the whole state is saved every so many steps."""

# https://github.com/SpaceFrontiers/hermes/pull/128

import os
import queue
import tempfile
import threading

import torch
from common import FIX, done, over
from stoker.emulated import Device

BATCH, LENGTH, PARAMETERS, SAVE_EVERY = 8, 512, 6_000_000, 500 if FIX else 100


class Reader:
    """Tokens are read and batched in a thread, two batches ahead."""

    def __init__(self):
        self.batches, self.done = queue.Queue(2), threading.Event()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        corpus, place = torch.arange(1 << 20), 0
        while not self.done.is_set():
            batch = corpus[place : place + BATCH * LENGTH].view(BATCH, LENGTH).clone()
            place = (place + BATCH * LENGTH) % (len(corpus) - BATCH * LENGTH)
            while not self.done.is_set():
                try:
                    self.batches.put(batch, timeout=0.2)
                    break
                except queue.Full:
                    continue

    def close(self):
        self.done.set()
        self.thread.join()


class Model:
    def __init__(self, gpu):
        self.gpu = gpu
        self.weights, self.moments, self.squares = (torch.rand(PARAMETERS) for _ in range(3))

    def train_step(self, batch):
        self.gpu.copy(batch.nbytes)
        self.gpu.launch(0.0006, "transformer")
        self.gpu.launch(0.0013, "backward, adamw")

    def save(self, folder, step):
        """All of it, under a name of its own first."""
        state = {"model": self.weights, "exp_avg": self.moments, "exp_avg_sq": self.squares, "step": step}
        self.gpu.copy(3 * self.weights.nbytes)
        path = os.path.join(folder, "checkpoint.pt")
        torch.save(state, path + ".new")
        os.replace(path + ".new", path)


def main():
    torch.set_num_threads(1)
    gpu, samples, step, reader = Device(spin=False, memory_used=20 << 30), 0, 0, Reader()
    model = Model(gpu)
    with tempfile.TemporaryDirectory() as folder:
        while not over():
            model.train_step(reader.batches.get())
            step, samples = step + 1, samples + BATCH
            if step % SAVE_EVERY == 0:
                model.save(folder, step)
            if step % 500 == 0:
                print(f"step {step} loss {gpu.item():.4f}", flush=True)
        done(gpu, samples)
    reader.close()


if __name__ == "__main__":
    main()
