"""The pictures are on a disk that is mounted over the network (tensorpack/tensorpack#321)."""

import http.client
import os
import socketserver
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler
from multiprocessing import Process, Value

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

FOLDER = os.path.join(tempfile.gettempdir(), "stoker-exam3-imagenet")


def make_files(count=64):
    os.makedirs(FOLDER, exist_ok=True)
    for n in range(count):
        path = os.path.join(FOLDER, f"{n:05d}.npy")
        if not os.path.exists(path):
            numpy.save(path, numpy.zeros((3, 96, 96), numpy.uint8))


class Share(BaseHTTPRequestHandler):
    """A file server far away: a request takes as long as its way there and back."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        time.sleep(0.004)
        with open(os.path.join(FOLDER, os.path.basename(self.path)), "rb") as file:
            data = file.read()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def serve(port):
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Share) as server:
        server.daemon_threads = True
        port.value = server.server_address[1]
        server.serve_forever()


class RemoteDisk:
    def __init__(self, port):
        self.port, self.connections = port, threading.local()

    def read(self, name):
        if not hasattr(self.connections, "value"):
            self.connections.value = http.client.HTTPConnection("127.0.0.1", self.port)
        self.connections.value.request("GET", "/" + name)
        return self.connections.value.getresponse().read()


class LocalDisk:
    def read(self, name):
        with open(os.path.join(FOLDER, name), "rb") as file:
            return file.read()


class ILSVRC12(Dataset):
    def __init__(self, disk):
        self.disk = disk

    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        data = self.disk.read(f"{i % 64:05d}.npy")
        return torch.frombuffer(bytearray(data[-27648:]), dtype=torch.uint8).view(3, 96, 96), i % 1000


def main():
    torch.set_num_threads(1)
    make_files()
    port = Value("i", 0)
    server = Process(target=serve, args=(port,), daemon=True)
    server.start()
    while not port.value:
        time.sleep(0.01)
    gpu, samples = Device(), 0
    data = ILSVRC12(LocalDisk() if FIX else RemoteDisk(port.value))
    for images, _ in DataLoader(data, batch_size=32, shuffle=True, num_workers=2, pin_memory=True):
        gpu.copy(images.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.03, "step")
        samples += len(images)
        if over():
            break
    done(gpu, samples)
    server.terminate()


if __name__ == "__main__":
    main()
