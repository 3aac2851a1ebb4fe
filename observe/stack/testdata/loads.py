"""Loads for a long time: asleep on one line, at work on another, and parked between; ends with its stdin."""

import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch/utils/data/_utils"))
import fetch  # noqa: E402


class Samples:
    def __getitem__(self, index):
        time.sleep(0.03)  # asleep
        return count(300_000)


def count(n):
    total = 0
    for i in range(n):
        total += i * i % 7  # at work
    return total


def parked():
    time.sleep(0.02)


def load():
    samples = Samples()
    while True:
        fetch.fetch(lambda: samples[3])
        parked()


threading.Thread(target=load, daemon=True).start()
print(threading.enumerate()[-1].native_id, flush=True)
sys.stdin.read()
