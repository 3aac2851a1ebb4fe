"""Metrics go to a tracking server in each step, over HTTP (Lightning-AI/pytorch-lightning#3393)."""

import http.client
import json
import multiprocessing
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset


class Server(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(0.025)  # a network and a database
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def serve(port):
    server = HTTPServer(("127.0.0.1", 0), Server)
    port.value = server.server_port
    server.serve_forever()


class Client:
    def __init__(self, port):
        self.port = port

    def log_metric(self, key, value, step):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        body = json.dumps({"key": key, "value": value, "step": step})
        connection.request("POST", "/api/2.0/mlflow/runs/log-metric", body, {"Content-Type": "application/json"})
        connection.getresponse().read()
        connection.close()


class Points(Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, i):
        return torch.zeros(64)


def main():
    port = multiprocessing.Value("i", 0)
    server = multiprocessing.Process(target=serve, args=(port,), daemon=True)
    server.start()
    while not port.value:
        time.sleep(0.01)
    gpu, client = Device(), Client(port.value)
    loader = DataLoader(Points(), batch_size=64, shuffle=True, num_workers=1, pin_memory=True)
    samples = 0
    for step, batch in enumerate(loader):
        gpu.copy(batch.nbytes, pinned=True, non_blocking=True)
        gpu.launch(0.012, "step")
        if not FIX or step % 100 == 0:
            client.log_metric("train_loss", gpu.item(), step)
        samples += len(batch)
        if over():
            break
    done(gpu, samples)
    server.terminate()


if __name__ == "__main__":
    main()
