"""A store on loopback that answers like S3, as much as a loader asks of it: lists and objects of one folder. It checks no signature."""

import hashlib
import http.server
import threading
import urllib.parse
from pathlib import Path
from xml.sax.saxutils import escape


def serve(root):
    """Begin serving a folder as the bucket "bucket"; the store's address. It ends with the process."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Store", (_Store,), {"root": Path(root)}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


class _Store(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    root: Path

    def do_GET(self):
        path, _, query = self.path.partition("?")
        key = urllib.parse.unquote(path).removeprefix("/bucket").lstrip("/")
        if not key:
            return self._list(urllib.parse.parse_qs(query).get("prefix", [""])[0])
        data = (self.root / key).read_bytes()
        wanted = self.headers.get("If-Match")
        self._answer(412 if wanted not in (None, tag(data)) else 200, data, ETag=tag(data))

    def _list(self, prefix):
        files = [path for path in sorted(self.root.rglob("*")) if path.is_file() and str(path.relative_to(self.root)).startswith(prefix)]
        found = "".join(
            f"<Contents><Key>{escape(str(path.relative_to(self.root)))}</Key><Size>{path.stat().st_size}</Size><ETag>{escape(tag(path.read_bytes()))}</ETag></Contents>"
            for path in files
        )
        text = f"<ListBucketResult><Name>bucket</Name><IsTruncated>false</IsTruncated><KeyCount>{len(files)}</KeyCount>{found}</ListBucketResult>"
        self._answer(200, text.encode())

    def _answer(self, code, data, **headers):
        self.send_response(code)
        for name, value in {"Content-Length": len(data), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def tag(data):
    return '"%s"' % hashlib.md5(data).hexdigest()
