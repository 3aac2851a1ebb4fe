"""Processes of the program's own send batches through a queue that pickles them (keras-team/keras#4763)."""

import multiprocessing

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device


def produce(queue, seed):
    draw = numpy.random.default_rng(seed)
    batch = draw.random((64, 3, 96, 96), numpy.float32)
    if FIX:
        batch = torch.from_numpy(batch).share_memory_()
    while True:
        queue.put({"image": batch, "label": [1] * 64})


class GeneratorEnqueuer:
    def __init__(self, workers):
        make = torch.multiprocessing if FIX else multiprocessing
        self.queue = make.Queue(maxsize=4)
        self.processes = [make.Process(target=produce, args=(self.queue, n), daemon=True) for n in range(workers)]
        for process in self.processes:
            process.start()

    def get(self):
        while True:
            yield self.queue.get()

    def stop(self):
        for process in self.processes:
            process.kill()


def fit_generator(gpu, enqueuer):
    samples = 0
    for step, batch in enumerate(enqueuer.get()):
        images = torch.as_tensor(batch["image"])
        gpu.copy(images.nbytes)
        gpu.launch(0.02, "resnet, backward, sgd")
        samples += len(images)
        if step % 50 == 0:
            gpu.item()
        if over():
            break
    return samples


def main():
    torch.set_num_threads(1)
    gpu, enqueuer = Device(spin=False), GeneratorEnqueuer(1)
    done(gpu, fit_generator(gpu, enqueuer))
    enqueuer.stop()


if __name__ == "__main__":
    main()
