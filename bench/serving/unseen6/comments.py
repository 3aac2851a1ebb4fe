"""May a comment be shown? http.server; 1,600 rules of the editors, then the model."""

import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch
from parts import Net, infer

RULES = [rf"\b(?:word{n}|wo?rd{n}s)\s+(?:of|in|at)\s+\d{{1,{n % 5 + 2}}}(?:st|nd|th)?\b" for n in range(1600)]
COMMENT = "the match of word12 was over at 7 and nobody cared, see word5 in 12th place"
model = Net(0.025, 0.001).eval()
on_device = threading.Lock()


def broken_rules(comment):
    return [n for n, rule in enumerate(RULES) if re.search(rule, comment, re.IGNORECASE)]


def toxicity(comment):
    ids = torch.tensor([[hash(word) % 5000 for word in comment.split()]])
    with on_device:
        return float(infer(model, ids).float().mean()) / 5000


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        comment = asked.get("comment", COMMENT)
        answer = json.dumps({"rules": broken_rules(comment), "toxic": toxicity(comment)}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
