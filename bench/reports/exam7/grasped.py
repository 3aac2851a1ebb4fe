"""Scores grasps of a gripper. Depth pictures are read and prepared ahead, into a queue."""

# https://github.com/BerkeleyAutomation/gqcnn/pull/45
# Cause: the queue is filled by a thread, whose Python work shares the interpreter's lock with the training loop.
# Fix: fill it from processes: training is twice as fast, "the thread is basically just slowing us down because of the GIL".
# Line: 76, threading.Thread in start_prefetch (its work is at 28 to 43).

import multiprocessing
import queue
import random
import threading
import time

import numpy
from common import FIX, done, over
from stoker.emulated import Device

BATCH, SIDE, HELPERS = 16, 32, 2


class Grasps:
    """Shards of pictures with the grasp's depth and angle."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.shard = numpy.random.default_rng(seed).random((64, SIDE, SIDE), dtype=numpy.float32)

    def load_batch(self):
        pictures, poses = numpy.empty((BATCH, SIDE, SIDE), numpy.float32), []
        for i in range(BATCH):
            picture = self.shard[self.draw.randrange(64)].copy()
            depth = 0.6 + 0.1 * self.draw.random()
            for _ in range(50):  # noise of the sensor, spot by spot
                row, column = self.draw.randrange(2, SIDE - 2), self.draw.randrange(2, SIDE - 2)
                for y in range(row - 2, row + 3):
                    for x in range(column - 2, column + 3):
                        if (y - row) ** 2 + (x - column) ** 2 <= 4:
                            picture[y, x] += self.draw.gauss(0, 0.005)
            if self.draw.random() < 0.5:
                picture = picture[:, ::-1]
            pictures[i] = picture
            poses.append((depth, self.draw.uniform(-1.57, 1.57)))
        return pictures, numpy.asarray(poses, numpy.float32)


def fill(seed, batches, ended):
    grasps = Grasps(seed)
    while not ended.is_set():
        batch = grasps.load_batch()
        while not ended.is_set():
            try:
                batches.put(batch, timeout=0.5)
                break
            except queue.Full:
                continue


class Summary:
    """Exponential means of what is shown, kept in Python."""

    def __init__(self):
        self.means = [0.0] * 60

    def add(self, values):
        for turn in range(40):
            self.means = [0.99 * mean + 0.01 * value * (turn < 1) for mean, value in zip(self.means, values, strict=True)]
        return sum(self.means)


def start_prefetch():
    if FIX:
        ended, batches = multiprocessing.Event(), multiprocessing.Queue(20)
        helpers = [multiprocessing.Process(target=fill, args=(i, batches, ended), daemon=True) for i in range(HELPERS)]
    else:
        ended, batches = threading.Event(), queue.Queue(20)
        helpers = [threading.Thread(target=fill, args=(0, batches, ended), daemon=True)]
    for helper in helpers:
        helper.start()
    return batches, ended, helpers


def main():
    batches, ended, helpers = start_prefetch()
    gpu, summary, samples, step = Device(spin=False), Summary(), 0, 0
    while not over():
        pictures, poses = batches.get()
        gpu.copy(pictures.nbytes + poses.nbytes)
        fetched = []
        for run in ("gqcnn, momentum", "loss", "learning rate", "minibatch error", "l2 of the weights"):  # calls of the session
            gpu.launch(0.003 if run.startswith("gqcnn") else 0.0003, run)
            fetched.append(gpu.item())
        total = summary.add(fetched + [float(pose) for pose in poses.ravel()] + [0.0] * 23)
        step, samples = step + 1, samples + BATCH
        if step % 50 == 0:
            print(f"{time.strftime('%H:%M:%S')} step {step}, minibatch loss {total:.3f}", flush=True)
    done(gpu, samples)
    ended.set()
    for helper in helpers:
        helper.terminate() if FIX else helper.join(2)


if __name__ == "__main__":
    main()
