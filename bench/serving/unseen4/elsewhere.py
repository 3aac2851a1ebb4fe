"""A service in another place, which answers after a while: python bench/serving/unseen4/elsewhere.py PORT SECONDS."""

import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, TAKES = int(sys.argv[1]), float(sys.argv[2])
ANSWER = b'{"features": [0.1, 0.2, 0.3]}'


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

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


ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
