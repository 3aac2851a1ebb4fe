"""Vectors of pictures, as CLIP's service has it: a front that decodes, and a process that owns the model. ZeroMQ."""

import multiprocessing
import os
import sys
import threading

import cv2
import numpy as np
import zmq

THREADS = 3


def prepare(sent):
    picture = cv2.imdecode(np.frombuffer(sent, np.uint8), cv2.IMREAD_COLOR)
    return cv2.resize(picture, (224, 224), interpolation=cv2.INTER_AREA).astype(np.float32) / 255 - 0.45


def hand_over(worker, picture):
    """Ask the worker for the vector of a picture."""
    worker.send_json({"shape": picture.shape, "pixels": picture.ravel().tolist()})
    return worker.recv()


def receive(socket):
    message = socket.recv_json()
    return np.array(message["pixels"], np.float32).reshape(message["shape"])


def front(context, address):
    """A thread of the front: takes requests, and asks the worker."""
    requests, worker = context.socket(zmq.REP), context.socket(zmq.REQ)
    requests.connect("inproc://requests")
    worker.connect(address)
    while True:
        requests.send(hand_over(worker, prepare(requests.recv())))


def encode(address):
    """The process that owns the device."""
    import torch
    from parts import Net, infer

    torch.set_num_threads(1)
    model = Net(0.028, 0.001).eval()
    socket = zmq.Context().socket(zmq.REP)
    socket.bind(address)
    while True:
        picture = receive(socket)
        infer(model, torch.from_numpy(picture)[None])
        socket.send(bytes(2048))


if __name__ == "__main__":
    cv2.setNumThreads(1)
    address = f"ipc://@vectors-{os.getpid()}"
    multiprocessing.get_context("spawn").Process(target=encode, args=(address,), daemon=True).start()
    context = zmq.Context()
    clients, threads = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
    clients.bind(f"tcp://127.0.0.1:{sys.argv[1]}")
    threads.bind("inproc://requests")
    for _ in range(THREADS):
        threading.Thread(target=front, args=(context, address), daemon=True).start()
    zmq.proxy(clients, threads)
