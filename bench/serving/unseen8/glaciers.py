"""How fast does a glacier flow? A worker that takes pairs of pictures from a queue, ZeroMQ: python bench/serving/unseen8/glaciers.py PORT."""

import sys

import torch
import zmq
from parts import Net, infer

torch.set_num_threads(1)
model = Net(0.045, 0.001).eval()


class Queue:
    """Jobs, and a store for what comes of them."""

    def __init__(self, port):
        self.socket = zmq.Context.instance().socket(zmq.DEALER)
        self.socket.connect(f"tcp://127.0.0.1:{port}")

    def wait_for(self, kind):
        while (parts := self.socket.recv_multipart())[0] != kind:
            pass
        return parts[1]

    def next(self):
        self.socket.send(b"next")
        return self.wait_for(b"job")

    def store(self, job, speed):
        self.socket.send_multipart([b"store", job, b"%.3f" % speed])
        self.wait_for(b"stored")


def work(queue):
    while True:
        job = queue.next()
        out = infer(model, torch.full((1, 8), float(len(job))))
        queue.store(job, float(out.mean()))


if __name__ == "__main__":
    work(Queue(int(sys.argv[1])))
