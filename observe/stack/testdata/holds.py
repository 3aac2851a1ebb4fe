"""Its first thread waits for a lock that another one has, which works on one line; ends with its stdin."""

import os
import sys
import threading

lock, held = threading.Lock(), threading.Event()


def work():
    with lock:
        held.set()
        total = 0
        while True:
            total += 1  # at work


def end():
    sys.stdin.read()
    os._exit(0)


for task in work, end:
    threading.Thread(target=task, daemon=True).start()
held.wait()
print(threading.get_native_id(), flush=True)
lock.acquire()
