"""Servers on http.server: python bench/serving/unseen/plain.py CASE PORT. See unseen.py."""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch
from parts import Net, infer, lock

CASE, PORT = sys.argv[1], int(sys.argv[2])
net = Net().eval()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if CASE == "http-json":
            x = json.loads(body)["x"]  # the cause of http-json
            x = torch.tensor(x)  # the cause of http-json
        with lock:
            if CASE == "http-lock":
                time.sleep(0.080)  # the cause of http-lock: a rate limiter that sleeps
            infer(net, torch.zeros(1, 8))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    ThreadingHTTPServer.request_queue_size = 64
    ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
