"""http.server: python bench/serving/unseen2/simple.py CASE PORT. See unseen2.py."""

import io
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch
from parts import Net, infer, lock
from PIL import Image, ImageFilter

CASE, PORT = sys.argv[1], int(sys.argv[2])
net = (Net(0.250, 0.0) if CASE == "http-busy" else Net()).eval()
mask = Image.effect_noise((700, 700), 80)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        with lock:
            infer(net, torch.zeros(1, 8))
        answer = b"{}"
        if CASE == "http-mask":
            smooth = mask.filter(ImageFilter.MedianFilter(5))  # the cause of http-mask
            file = io.BytesIO()
            smooth.save(file, "PNG")  # the cause of http-mask
            answer = file.getvalue()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    ThreadingHTTPServer.request_queue_size = 64
    ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
