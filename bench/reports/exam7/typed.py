"""Reads CAPTCHAs: 64 pictures a step, a step a second, fed by a thread."""

# https://github.com/kerlomz/captcha_trainer/issues/5
# Cause: none: "when using gpu, batch size = 64, around 1 step/s, is it normal training speed?" "This is normal." Healthy.
# Fix: nothing to change (--fix feeds uint8, a quarter of the bytes, which gains nothing).
# Line: none.

import queue
import threading
import time

import cv2
import numpy
from common import FIX, done, over
from stoker.emulated import Device

BATCH, LETTERS = 64, "abcdefghijkmnpqrstuvwxyz23456789"


class Captchas:
    def __init__(self, count=400):
        self.draw = numpy.random.default_rng(0)
        self.words = ["".join(self.draw.choice(list(LETTERS), 5)) for _ in range(count)]
        self.pictures = [self.paint(word) for word in self.words]

    def paint(self, word):
        picture = numpy.full((60, 160), 240, numpy.uint8)
        for at, letter in enumerate(word):
            place = (10 + 28 * at, int(self.draw.integers(30, 50)))
            cv2.putText(picture, letter, place, cv2.FONT_HERSHEY_COMPLEX, 1.1, int(self.draw.integers(0, 120)), 2, cv2.LINE_AA)
        return picture

    def batch(self):
        chosen = self.draw.integers(0, len(self.words), BATCH)
        pictures = numpy.stack([self.pictures[i] for i in chosen])[..., None]
        labels = numpy.array([[LETTERS.index(letter) for letter in self.words[i]] for i in chosen])
        return (pictures if FIX else pictures.astype(numpy.float32) / 255), labels


class Feed:
    """A thread that stays two batches ahead."""

    def __init__(self, captchas):
        self.ready, self.ended = queue.Queue(2), threading.Event()
        self.thread = threading.Thread(target=self.fill, args=(captchas,), daemon=True)
        self.thread.start()

    def fill(self, captchas):
        while not self.ended.is_set():
            try:
                self.ready.put(captchas.batch(), timeout=0.2)
            except queue.Full:
                continue

    def close(self):
        self.ended.set()
        self.thread.join(2)


class Session:
    def __init__(self, gpu):
        self.gpu = gpu

    def run(self, pictures, labels):
        self.gpu.copy(pictures.nbytes + labels.nbytes)
        self.gpu.launch(0.25, "densenet")
        self.gpu.launch(0.12, "blstm, ctc")
        self.gpu.launch(0.58, "gradients, adabound")
        return self.gpu.item()


def main():
    gpu, samples, step = Device(spin=False, memory_used=6 << 30), 0, 0
    session, feed = Session(gpu), Feed(Captchas())
    last = time.time()
    while not over():
        cost = session.run(*feed.ready.get())
        step, samples = step + 1, samples + BATCH
        print(f"Step: {step} Time: {time.time() - last:.3f} sec/batch, Cost = {cost:.5f}", flush=True)
        last = time.time()
    done(gpu, samples)
    feed.close()


if __name__ == "__main__":
    main()
