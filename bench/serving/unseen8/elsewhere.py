"""A service in another place: python bench/serving/unseen8/elsewhere.py PORT SECONDS. It answers GET and POST after SECONDS."""

import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, TAKES = int(sys.argv[1]), float(sys.argv[2])
ANSWER = b'{"keys": [{"kid": "2026-11", "k": "c2VhIGJyZWV6ZQ"}], "ship": {"length": 182, "draught": 9.4}}'


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        time.sleep(TAKES)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(ANSWER)))
        self.end_headers()
        self.wfile.write(ANSWER)

    do_POST = do_GET

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128


Server(("127.0.0.1", PORT), Handler).serve_forever()
