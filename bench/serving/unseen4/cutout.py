"""What is in a picture, as masks. http.server."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch
import torch.nn.functional as F
from parts import Net, device, infer, lock

model = Net(0.045, 0.001).eval()
MASKS = 30


class OnDevice:
    """A mask of 256 by 256 in the device's memory."""

    def __init__(self, values):
        self.values = values

    def cpu(self):
        device().launch(15e-6, "copy")
        device().item()
        return self.values


found = [OnDevice(torch.randn(1, 1, 256, 256)) for _ in range(MASKS)]


def full_size(mask):
    large = F.interpolate(mask.cpu(), size=(1080, 1920), mode="bilinear", align_corners=False)
    return large[0, 0] > 0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        with lock:
            infer(model, torch.zeros(1, 8))
            areas = [int(full_size(mask).sum()) for mask in found]
        answer = json.dumps({"areas": areas}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
