"""http.server: python bench/serving/unseen3/http3.py CASE PORT. See unseen3.py."""

import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch
from parts import Net, device, infer, lock

CASE, PORT = sys.argv[1], int(sys.argv[2])
FIXED = os.environ.get("BENCH_FIXED") == "1"
net = Net(0.035, 0.0).eval()
WEIGHTS = 1_400_000_000


def to_device():
    """As pipe.to("cuda") of weights that the host keeps, in pageable memory."""
    device().copy(WEIGHTS)  # the cause of http-offload


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        with lock:
            if not FIXED:
                to_device()
            infer(net, torch.zeros(1, 8))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
