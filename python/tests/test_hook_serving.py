"""What the hook counts of servers (python/hook/serving.py): on a stand-in for uvicorn, whose clock only moves when it is told."""

import unittest

from test_hook import CLOCK, FakeCase

MS = 1_000_000

UVICORN = {
    "__init__.py": "",
    "protocols/__init__.py": "",
    "protocols/http/__init__.py": "",
    "protocols/http/h11_impl.py": """
        class RequestResponseCycle:
            def __init__(self, path, method="POST"): self.scope = {"path": path, "method": method}
            async def receive(self): return {}
            async def send(self, message): pass
            async def run_asgi(self, app): await app(self.scope, self.receive, self.send)
    """,
}

SERVER = (
    CLOCK
    + """
    import asyncio
    from uvicorn.protocols.http.h11_impl import RequestResponseCycle
    sys.modules["_stoker_hook"].now.parts["serving"].monotonic_ns = lambda: now[0]
    requests = sys.modules["_stoker_hook"].now.state.requests
    async def app(scope, receive, send):
        time.sleep(0.010)
        await send({"type": "http.response.start"})
        await send({"type": "http.response.body", "body": b"x"})
        time.sleep(0.030)
        if scope["path"] == "/fails": raise KeyError("the program's own")
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    def ask(*args): asyncio.run(RequestResponseCycle(*args).run_asgi(app))
    begun = requests.unasked + now[0] - requests.changed
"""
)


class Serving(FakeCase):
    def setUp(self):
        super().setUp()
        self.write(self.fake, "uvicorn", UVICORN)

    def serve(self, body):
        result = self.silent(self.run_program("    import sys, torch, torch.utils.data\n" + SERVER + body))
        self.assertEqual(result.of("warn"), [])
        return result

    def test_each_request_tells_three_times(self):
        found = self.serve("""
    ask("/predict")
    time.sleep(0.2)
    ask("/predict")
    time.sleep(0.2)
    ask("/predict")
        """)
        self.assertEqual([(r["f"], r["d"]) for r in found.of("request")], [(10 * MS, 40 * MS)] * 3)
        self.assertEqual(found.of("request")[1]["t"] - found.of("request")[0]["t"], 240 * MS)

    def test_a_request_after_none_is_told_at_once(self):
        """The event loop may be blocked by it for seconds."""
        told = self.serve("""
    ask("/predict")
    time.sleep(0.2)
    ask("/predict")
        """).of("serve")
        self.assertEqual([r["active"] for r in told if r["arrived"] == 2][0], 1)
        self.assertEqual([r["unasked"] for r in told if r["arrived"] == 2][0] - told[0]["unasked"], 200 * MS)
        self.assertEqual([r["flight"] for r in told if r["arrived"] == 2][0], 40 * MS)

    def test_probes_are_no_requests(self):
        found = self.serve("""
    ask("/health")
    ask("/predict", "OPTIONS")
    ask("/metrics")
    ask("/predict")
        """)
        self.assertEqual(len(found.of("request")), 1)

    def test_errors_pass_and_end_the_request(self):
        found = self.serve("""
    try: ask("/fails")
    except KeyError: print("passed")
    assert requests.active == 0, requests.active
        """)
        self.assertEqual(found.out, "passed\n")
        self.assertEqual(len(found.of("request")), 1)


if __name__ == "__main__":
    unittest.main()
