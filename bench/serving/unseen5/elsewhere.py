"""Services in another place: python bench/serving/unseen5/elsewhere.py PORT SECONDS.

Each answer takes SECONDS. /limits answers each third request, and is busy (503) for the others; /photos is a picture.
"""

import itertools
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, TAKES = int(sys.argv[1]), float(sys.argv[2])
asked = itertools.count(1)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        time.sleep(TAKES)
        busy = self.path.startswith("/limits") and next(asked) % 3
        answer = b"\xff\xd8" + b"photo" * 4000 if self.path.startswith("/photos") else b'{"tokens": 256}'
        self.send_response(503 if busy else 200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
