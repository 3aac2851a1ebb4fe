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

    def test_passes_over_rows_of_one_tensor_are_pieces(self):
        self.serve("""
    own = sys.modules["_stoker_hook"].part("own")
    class Part:
        _version = 0
        def __init__(self, shape, base=None, at=0): self.shape, self._base, self.at = shape, base, at
        def data_ptr(self): return self.at
        def is_inference(self): return False
    batch, model, other = Part((4, 8)), Part(()), Part(())
    def count(parts, models=(model,)):
        pieces = own.Pieces()
        return sum(pieces.goes_on(models[n % len(models)], part) for n, part in enumerate(parts))
    rows = [Part((1, 8), batch, 8 * n) for n in range(4)]
    assert count(rows) == 3 and count(rows, (model, other)) == 0
    assert count(Part((1, 2, 2), batch, n) for n in range(4)) == 3, "crops"
    assert count(Part((1, 1), batch, n) for n in range(4)) == 0, "steps in time"
    assert count(Part((1, 8), Part((4, 8)), n) for n in range(4)) == 0, "each of its own"
    assert count([rows[0], rows[0]]) == 0, "again"
    def written():
        for row in rows:
            yield row
            batch._version += 1
    assert count(written()) == 0, "each is made of the one before"
        """)

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

    def test_the_end_of_the_last_request_is_told_at_once_in_a_thread(self):
        """Without an event loop there is no timer that could tell it later."""
        told = self.serve("""
    requests.end(requests.begin(now[0]), now[0] + 1000000)
        """).of("serve")
        self.assertEqual([(r["answered"], r["active"]) for r in told][-1], (1, 0))

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


class Awaiting(FakeCase):
    """By the real clock: the event loop's timers make the looks."""

    def setUp(self):
        super().setUp()
        self.write(self.fake, "uvicorn", UVICORN)

    def serve(self, body):
        program = "    import sys, torch, torch.utils.data\n" + SERVER.replace(CLOCK, "").replace('sys.modules["_stoker_hook"].now.parts["serving"].monotonic_ns = lambda: now[0]', "now = [0]")
        result = self.silent(self.run_program(program + body))
        self.assertEqual(result.of("warn"), [])
        return result

    def test_the_line_on_which_a_coroutine_waits_is_told(self):
        """No thread's stack has it. One request has the lock and awaits a timer, the other the lock; a batch is told as well."""
        found = self.serve("""
    async def other():
        await asyncio.sleep(0.01)
        while True: await asyncio.wait_for(asyncio.Queue().get(), 9)
    async def clock():
        while True: await asyncio.sleep(5)
    async def waits(scope, receive, send):
        async with gpu:
            await asyncio.gather(asyncio.sleep(0.7), asyncio.to_thread(int))
    async def all_of_them():
        global gpu
        gpu, tasks = asyncio.Lock(), [asyncio.ensure_future(one()) for one in (other, clock)]
        await asyncio.gather(*(RequestResponseCycle("/predict").run_asgi(waits) for _ in range(2)))
    asyncio.run(all_of_them())
        """)
        sums = {}
        for r in found.of("await"):
            sums[r["who"], " ".join(name.rpartition(".")[2] for _, _, name in r["frames"] if "run_asgi" not in name)] = r["for"] / 1e9
        self.assertTrue({("request", "waits sleep"), ("task", "other wait_for")} <= sums.keys(), sums)
        self.assertTrue([names for who, names in sums if names.endswith("acquire")], sums)
        self.assertEqual([names for _, names in sums if "clock" in names], [])

    def test_that_nobody_asks_is_told_once_for_many_requests(self):
        """A packet costs as much as a short request."""
        told = self.serve("""
    async def short(scope, receive, send): await asyncio.sleep(0.001)
    async def many():
        for _ in range(40): await RequestResponseCycle("/predict").run_asgi(short)
        await asyncio.sleep(0.3)
    asyncio.run(many())
        """).of("serve")
        self.assertEqual([(r["answered"], r["active"]) for r in told][-1], (40, 0))
        self.assertLess(sum(r["active"] == 0 for r in told), 20)

    def test_the_own_line_of_a_deep_chain_is_told(self):
        """An HTTP client of a library may be twenty coroutines deep."""
        self.write(self.fake, "site-packages", {"deep.py": """
            import asyncio
            async def ask(depth): await (ask(depth - 1) if depth else asyncio.Event().wait())
        """})
        found = self.serve("""
    sys.path.insert(0, %r)
    import deep
    async def directly(scope, receive, send): await deep.ask(30)
    async def one(app):
        task = asyncio.ensure_future(RequestResponseCycle("/predict").run_asgi(app))
        await asyncio.wait([task], timeout=0.7)
        task.cancel()
        await asyncio.wait([task])
    asyncio.run(one(directly))
        """ % (str(self.fake) + "/site-packages"))
        stacks = [[name.rpartition(".")[2] for _, _, name in r["frames"]] for r in found.of("await") if r["who"] == "request"]
        self.assertTrue(stacks)
        for names in stacks:
            self.assertIn("directly", names)
            self.assertEqual(names[-1], "wait")
            self.assertLessEqual(len(names), 13)

    def test_what_a_stream_awaits_is_its_request_s(self):
        """Starlette answers a stream by two tasks: one listens whether the client goes away, the other asks the program's generator."""
        found = self.serve("""
    async def words():
        for word in range(70):
            yield word
            await asyncio.sleep(0.01)
    async def stream_response():
        async for word in words(): pass
    async def listen_for_disconnect(): await asyncio.Event().wait()
    async def streams(scope, receive, send):
        listening = asyncio.ensure_future(listen_for_disconnect())
        await asyncio.ensure_future(stream_response())
        listening.cancel()
    asyncio.run(RequestResponseCycle("/predict").run_asgi(streams))
        """)
        stacks = {(r["who"], tuple(name.rpartition(".")[2] for _, _, name in r["frames"])) for r in found.of("await")}
        self.assertIn(("request", ("stream_response", "words", "sleep")), stacks)
        self.assertEqual([names for _, names in stacks if "listen_for_disconnect" in names], [])

    def test_a_pool_s_thread_in_a_function_with_lent_code(self):
        """lend.Swap puts lists among the constants of a code, which then has no hash."""
        found = self.serve("""
    lent = (lambda: None).__code__
    lent = lent.replace(co_consts=(*lent.co_consts, []))
    awaits = requests.awaits
    for _ in range(2): awaits.sum("pool", ((lent, 3),), 5)
    awaits.tell(requests.state, now[0] + 10**10)
        """)
        self.assertEqual([r["for"] for r in found.of("await")], [10])

    def test_what_a_thread_of_a_pool_has_is_told_so(self):
        found = self.serve("""
    import threading
    async def computes(scope, receive, send):
        await asyncio.get_running_loop().run_in_executor(None, threading.Event().wait, 0.7)
    asyncio.run(RequestResponseCycle("/predict").run_asgi(computes))
        """)
        self.assertEqual({r["who"] for r in found.of("await") if r["frames"][-1][2].endswith("computes")}, {"thread"})

    def test_the_thread_of_a_pool_in_which_calls_wait_is_told(self):
        found = self.serve("""
    from concurrent.futures import ThreadPoolExecutor
    from threading import Event
    pool, roomy = ThreadPoolExecutor(1), ThreadPoolExecutor(4)
    def fetches(): Event().wait(0.5)
    def quick(): Event().wait(0.5)
    async def asks(scope, receive, send):
        loop = asyncio.get_running_loop()
        await asyncio.gather(loop.run_in_executor(pool, fetches), loop.run_in_executor(roomy, quick))
    async def all_of_them(): await asyncio.gather(*(RequestResponseCycle("/predict").run_asgi(asks) for _ in range(3)))
    asyncio.run(all_of_them())
        """)
        names = {tuple(name.rpartition(".")[2] for _, _, name in r["frames"]): r["for"] / 1e9 for r in found.of("await") if r["who"] == "pool"}
        waited = sum(seconds for frames, seconds in names.items() if "fetches" in frames)
        self.assertTrue(0 < waited < 2.5, names)  # two wait for half a second, then one, as far as a busy machine looks
        self.assertFalse([frames for frames in names if "quick" in frames], names)

    def test_a_replica_of_ray_serve_tells_what_its_coroutines_await(self):
        """Its proxy, another process, counts the requests."""
        self.write(self.fake, "ray", {"__init__.py": "", "serve/__init__.py": "", "serve/_private/__init__.py": "", "serve/_private/replica.py": """
            class UserCallableWrapper:
                async def _call_func_or_gen(self, callable, *, args=None): return await callable(*args)
        """})
        found = self.silent(self.run_program("""
    import asyncio, sys, torch, torch.utils.data
    from ray.serve._private.replica import UserCallableWrapper
    async def features(seconds):
        await asyncio.sleep(seconds)
        return 7
    async def answers(seconds):
        return await features(seconds)
    print(asyncio.run(UserCallableWrapper()._call_func_or_gen(answers, args=(0.7,))))
    try: asyncio.run(UserCallableWrapper()._call_func_or_gen(answers, args=("x",)))
    except TypeError: print("raised")
    print(sys.modules["_stoker_hook"].now.state.replica.active, sys.modules["_stoker_hook"].now.state.requests)
        """))
        self.assertEqual(found.out.split(), ["7", "raised", "0", "None"])
        told = [[name.rpartition(".")[2] for _, _, name in r["frames"]] for r in found.of("await") if r["who"] == "request"]
        self.assertTrue([names for names in told if names[-3:] == ["answers", "features", "sleep"]], told)

    def test_a_blocked_loop_waits_for_nothing_else(self):
        found = self.serve("""
    from threading import Event
    async def blocks(scope, receive, send):
        for _ in range(3):
            await asyncio.sleep(0.15)
            Event().wait(0.5)
    asyncio.run(RequestResponseCycle("/predict").run_asgi(blocks))
        """)
        self.assertLess(max([r["for"] for r in found.of("await")] or [0]), 1400 * MS)  # 450, and 1950 with what blocks


ANY_PROGRAM = """
    import io
    from concurrent.futures import Future
    from http.server import BaseHTTPRequestHandler
    from aiohttp.web_protocol import RequestHandler
    import grpc._server
    class Handler(BaseHTTPRequestHandler):
        def __init__(self): pass
        def do_POST(self): time.sleep(0.040)
        def log_message(self, *_): pass
    def ask_http(path, handler=Handler):
        h = handler()
        h.rfile, h.wfile, h.client_address = io.BytesIO(b"POST %s HTTP/1.1\\r\\n\\r\\n" % path.encode()), io.BytesIO(), ("", 0)
        h.handle_one_request()
    def passing(): sys.modules["_stoker_hook"].now.parts["serving"].monotonic_ns = lambda: now[0]
"""

AIOHTTP = {
    "__init__.py": "",
    "web_protocol.py": """
        class RequestHandler:
            __slots__ = ()
            async def _handle_request(self, request, start_time, request_handler): return await request_handler(request)
    """,
    "web_ws.py": """
        class WebSocketResponse:
            async def receive(self): return self.messages.pop(0)
    """,
}

TORNADO = {
    "__init__.py": "",
    "web.py": """
        class RequestHandler:
            async def _execute(self, transforms, *args): return await self.post(*args)
    """,
    "websocket.py": """
        import tornado.web
        class WebSocketHandler(tornado.web.RequestHandler): pass
        class WebSocketProtocol13:
            def _handle_message(self, opcode, data): return self.handler.on_message(data)
    """,
}

GRPC = {
    "__init__.py": """
        def unary_unary_rpc_method_handler(behavior, request_deserializer=None): return behavior
        def stream_unary_rpc_method_handler(behavior, request_deserializer=None): return behavior
        def unary_stream_rpc_method_handler(behavior, request_deserializer=None): return behavior
    """,
    "_server.py": """
        def _handle_call(event, answer): return "state", answer
    """,
}


SOCKETS = {
    "__init__.py": "",
    "asyncio/__init__.py": "",
    "asyncio/connection.py": """
        class Connection:
            async def recv(self, decode=None):
                if not self.messages: raise EOFError
                return self.messages.pop(0)
            def connection_lost(self, exc): self.lost = True
    """,
}

UVICORN_SOCKETS = dict(
    UVICORN,
    **{
        "protocols/websockets/__init__.py": "",
        "protocols/websockets/wsproto_impl.py": """
        class WSProtocol:
            async def receive(self): return self.messages.pop(0)
            async def run_asgi(self): await self.app(self)
    """,
    },
)

WAITRESS = {
    "__init__.py": "",
    "task.py": """
        class ThreadedTaskDispatcher:
            def add_task(self, task): self.task = task
    """,
    "channel.py": """
        import waitress.task
        class HTTPChannel:
            def service(self): self.work(self)
    """,
}

ZMQ = {
    "__init__.py": "",
    "sugar/__init__.py": "",
    "sugar/socket.py": """
        class Native:
            def recv(self, flags=0): return self.parts.pop(0)
            def send(self, data, flags=0): pass
        class Socket(Native):
            socket_type = 4
            def recv_multipart(self): return [self.recv(), self.recv()]
            def send(self, data, flags=0): return super().send(data, flags)
    """,
}

GUNICORN = {
    "__init__.py": "",
    "workers/__init__.py": "",
    "workers/sync.py": """
        class SyncWorker:
            def handle_request(self, listener, req, client, addr): return self.work(req)
    """,
    "workers/gthread.py": """
        class ThreadWorker:
            def handle_request(self, req, conn): return self.work(req)
    """,
    "workers/base_async.py": """
        class AsyncWorker:
            def handle_request(self, listener_name, req, sock, addr): return self.work(req)
    """,
}


class ServingAnyProgram(FakeCase):
    """http.server, aiohttp, gRPC and WSGI: programs of all kinds use them."""

    def setUp(self):
        super().setUp()
        self.write(self.fake, "aiohttp", AIOHTTP)
        self.write(self.fake, "grpc", GRPC)
        self.write(self.fake, "tornado", TORNADO)
        self.write(self.fake, "waitress", WAITRESS)
        self.write(self.fake, "websockets", SOCKETS)
        self.write(self.fake, "uvicorn", UVICORN_SOCKETS)
        self.write(self.fake, "gunicorn", GUNICORN)
        self.write(self.fake, "zmq", ZMQ)

    def serve(self, body, torch=", torch, torch.utils.data"):
        result = self.silent(self.run_program(f"    import sys{torch}\n" + CLOCK + ANY_PROGRAM + body))
        self.assertEqual(result.of("warn"), [])
        return result

    def test_a_request_lasts_until_its_answer_is_done(self):
        found = self.serve("""
    import asyncio
    passing()
    ask_http("/predict?x=1")
    time.sleep(0.2)
    class Asked: method, path = "POST", "/predict"
    async def answer(request):
        time.sleep(0.050)
        return 1
    assert asyncio.run(RequestHandler()._handle_request(Asked, 0, answer)) == 1
    time.sleep(0.2)
    future = Future()
    assert grpc._server._handle_call(None, future) == ("state", future)
    time.sleep(0.060)
    future.set_result(None)
    assert sys.modules["_stoker_hook"].now.state.requests.active == 0
        """)
        self.assertEqual([r["d"] for r in found.of("request")], [40 * MS, 50 * MS, 60 * MS])

    def test_a_request_of_tornado_and_a_call_of_grpc_aio(self):
        found = self.serve("""
    import asyncio, tornado.web
    passing()
    class Handler(tornado.web.RequestHandler):
        class request: method, path = "POST", "/predict"
        async def post(self, number): time.sleep(0.040); return number
    assert asyncio.run(Handler()._execute([], 3)) == 3
    async def Embed(request, context):
        time.sleep(0.030)
        if not request: raise KeyError("the program's own")
        return request
    call = grpc.unary_unary_rpc_method_handler(Embed)
    assert call.__name__ == "Embed" and asyncio.run(call("text", None)) == "text"
    try: asyncio.run(call("", None))
    except KeyError: print("passed")
    plain = lambda request, context: request
    assert grpc.unary_unary_rpc_method_handler(plain) is plain
    async def Tell(request, context):
        try:
            for word in request.split():
                time.sleep(0.020)
                yield word
        finally: print("closed")
    async def listen(most):
        words = grpc.unary_stream_rpc_method_handler(Tell)("once upon a time", None)
        said = [await anext(words) for _ in range(most)] if most else [word async for word in words]
        await words.aclose()
        return said
    assert asyncio.run(listen(0)) == ["once", "upon", "a", "time"] and asyncio.run(listen(2)) == ["once", "upon"]
    assert sys.modules["_stoker_hook"].now.state.requests.active == 0
        """)
        self.assertEqual(found.out, "passed\nclosed\nclosed\n")
        self.assertEqual([r["d"] for r in found.of("request")], [40 * MS, 30 * MS, 30 * MS, 80 * MS, 40 * MS])

    def test_a_message_lasts_until_the_next_one_is_asked_for(self):
        found = self.serve("""
    import asyncio
    from websockets.asyncio.connection import Connection
    from uvicorn.protocols.websockets.wsproto_impl import WSProtocol
    passing()
    requests = lambda: sys.modules["_stoker_hook"].now.state.requests
    async def talk(socket):
        try:
            while await socket.recv(): time.sleep(0.040)
        except EOFError: socket.connection_lost(None)
    server, client = Connection(), Connection()
    server.server, server.messages, client.messages = True, [b"a", "b"], [b"c"]
    asyncio.run(talk(client))
    assert sys.modules["_stoker_hook"].now.state is None or requests() is None
    asyncio.run(talk(server))
    async def app(protocol):
        for _ in range(3): await protocol.receive()
        time.sleep(0.060)
        raise KeyError("the program's own")
    protocol = WSProtocol()
    protocol.app, protocol.messages = app, [{"type": "websocket." + name} for name in ("connect", "receive", "receive", "disconnect")]
    try: asyncio.run(protocol.run_asgi())
    except KeyError: print("passed")
    assert requests().active == 0
        """)
        self.assertEqual(found.out, "passed\n")
        self.assertEqual([r["d"] for r in found.of("request")], [40 * MS, 40 * MS, 0, 60 * MS])

    def test_a_message_of_aiohttp_and_of_tornado(self):
        found = self.serve("""
    import asyncio, tornado.websocket
    from aiohttp.web_ws import WebSocketResponse
    passing()
    class Asked: method, path, headers = "GET", "/", {"Upgrade": "WebSocket"}
    class Message:
        def __init__(self, type): self.type = type
    async def talk(request):
        socket = WebSocketResponse()
        socket._req, socket.messages = request, [Message(1), Message(9), Message(2)]
        for _ in range(2):
            await socket.receive()
            time.sleep(0.040)
        await socket.receive()
        time.sleep(0.050)
        raise KeyError("the program's own")
    asked = Asked()
    try: asyncio.run(RequestHandler()._handle_request(asked, 0, talk))
    except KeyError: print("passed")
    requests = sys.modules["_stoker_hook"].now.state.requests
    assert requests.active == 0
    class Talk(tornado.websocket.WebSocketHandler):
        request = Asked
        async def post(self):
            protocol, answers = tornado.websocket.WebSocketProtocol13(), [None, Future()]
            protocol.handler, self.on_message = self, lambda data: time.sleep(0.030) or answers.pop(0)
            assert protocol._handle_message(1, "a") is None
            later = protocol._handle_message(2, b"a")
            assert requests.active == 1
            time.sleep(0.030)
            later.set_result(None)
            answers.append(None)
            protocol._handle_message(8, b"")
    asyncio.run(Talk()._execute([]))
    client = tornado.websocket.WebSocketProtocol13()
    class Client: on_message = lambda self, data: None
    client.handler = Client()
    client._handle_message(1, "a")
    assert requests.active == 0 and not sys.modules["_stoker_hook"].now.parts["serving"].open_sockets
        """)
        self.assertEqual(found.out, "passed\n")
        self.assertEqual([r["d"] for r in found.of("request")], [40 * MS, 50 * MS, 30 * MS, 60 * MS])

    def test_a_request_of_waitress_counts_from_its_queue_on(self):
        found = self.serve("""
    from types import SimpleNamespace as Things
    from waitress.channel import HTTPChannel
    from waitress.task import ThreadedTaskDispatcher
    passing()
    first, second = [Things(command="POST", path="/predict", error=None) for _ in range(2)]
    channel, queue = HTTPChannel(), ThreadedTaskDispatcher()
    def work(channel):
        time.sleep(0.040)
        channel.requests.pop(0)
        if channel.requests: queue.add_task(channel)
    channel.work, channel.requests = work, [first, second]
    queue.add_task(channel)
    time.sleep(0.1)
    channel.service()
    time.sleep(0.2)
    channel.service()
    for other in (Things(command="GET", path="/health", error=None), Things(error="400", command="", path="")):
        channel.requests = [other]
        queue.add_task(channel)
        channel.service()
    assert sys.modules["_stoker_hook"].now.state.requests.active == 0
        """)
        self.assertEqual([r["d"] for r in found.of("request")], [140 * MS, 240 * MS])

    def test_each_worker_of_gunicorn_is_seen(self):
        found = self.serve("""
    from types import SimpleNamespace as Things
    from gunicorn.workers.sync import SyncWorker
    from gunicorn.workers.gthread import ThreadWorker
    from gunicorn.workers.base_async import AsyncWorker
    passing()
    def work(request):
        time.sleep(0.040)
        if request.path == "/fails": raise KeyError("the program's own")
        return True
    for kind in (SyncWorker, ThreadWorker, AsyncWorker): kind.work = staticmethod(work)
    asked, failing, probe = [Things(method="POST", path=path) for path in ("/predict", "/fails", "/health")]
    assert SyncWorker().handle_request("listener", asked, None, None)
    assert ThreadWorker().handle_request(asked, None)
    assert AsyncWorker().handle_request("listener", asked, None, None)
    assert ThreadWorker().handle_request(probe, None)
    try: SyncWorker().handle_request("listener", failing, None, None)
    except KeyError: print("passed")
    assert sys.modules["_stoker_hook"].now.state.requests.active == 0
        """)
        self.assertEqual(found.out, "passed\n")
        self.assertEqual([r["d"] for r in found.of("request")], [40 * MS] * 4)

    def test_a_reply_of_zeromq_ends_its_request(self):
        found = self.serve("""
    from zmq.sugar.socket import Socket
    passing()
    requests = lambda: sys.modules["_stoker_hook"].now.state.requests
    socket, front = Socket(), Socket()
    front.socket_type, front.parts = 3, [b"a"]
    front.recv(); front.send(b"b")
    assert sys.modules["_stoker_hook"].now.state is None or requests() is None
    socket.parts = [b"a", b"b", b"c"]
    socket.recv_multipart(); time.sleep(0.040)
    socket.send(b"x", 2); time.sleep(0.010); socket.send(b"y")
    socket.recv(); time.sleep(0.060); socket.send(b"z", flags=1)
    assert requests().active == 0
        """)
        self.assertEqual([r["d"] for r in found.of("request")], [50 * MS, 60 * MS])

    def test_probes_and_refused_calls_are_no_requests(self):
        found = self.serve("""
    ask_http("/metrics?name=x")
    ask_http("/healthz")
    assert grpc._server._handle_call(None, None) == ("state", None)
        """)
        self.assertEqual(found.of("serve"), [])

    def test_a_server_that_reads_requests_its_own_way_is_left_alone(self):
        """wsgiref's calls parse_request itself: nothing would end the request."""
        found = self.serve("""
    class Own(Handler):
        def handle_one_request(self):
            self.raw_requestline = self.rfile.readline()
            assert self.parse_request()
    ask_http("/predict", Own)
        """)
        self.assertEqual(found.of("serve"), [])

    def test_a_program_without_torch_is_not_watched(self):
        found = self.serve("""
    ask_http("/predict")
    assert sys.modules["_stoker_hook"].now.state is None
        """, torch="")
        self.assertEqual(found.of("serve"), [])


VLLM = {
    "__init__.py": "",
    "v1/__init__.py": "",
    "v1/engine/__init__.py": "",
    "v1/worker/__init__.py": "",
    "v1/core/__init__.py": "",
    "v1/core/sched/__init__.py": "",
    "v1/engine/core.py": """
        class EngineCore:
            def step(self): return self.work()
    """,
    "v1/worker/gpu_worker.py": """
        class Worker:
            def execute_model(self, scheduler_output): return self.work()
    """,
    "v1/core/sched/scheduler.py": """
        class Scheduler:
            def _preempt_request(self, request): return request
    """,
}

TRANSFORMERS = {
    "__init__.py": "",
    "generation/__init__.py": "",
    "generation/continuous_batching/__init__.py": "",
    "generation/continuous_batching/continuous_api.py": """
        class ContinuousBatchProcessor:
            def _generation_step(self, model): return self.work()
    """,
    "generation/continuous_batching/offloading_manager.py": """
        class OffloadingManager:
            def offload_requests(self): return True
    """,
}

ENGINES = (
    CLOCK
    + """
    import types
    Things, hook = types.SimpleNamespace, sys.modules["_stoker_hook"]
    for name in ("inside", "own"): hook.part(name)  # as once torch.nn is imported
    hook.now.state.look_inside()
    def tell_clock(): hook.part("serving").monotonic_ns = lambda: now[0]
"""
)


class Engines(FakeCase):
    """Passes of vLLM and of transformers' continuous batching, with what their engines tell, on stand-ins."""

    def run_engine(self, body):
        result = self.silent(self.run_program("    import sys, torch, torch.utils.data\n" + ENGINES + body))
        self.assertEqual(result.of("warn"), [])
        return result

    def test_a_pass_of_vllm_is_a_call_of_its_worker(self):
        self.write(self.fake, "vllm", VLLM)
        found = self.run_engine("""
    from vllm.v1.engine.core import EngineCore
    from vllm.v1.worker.gpu_worker import Worker
    from vllm.v1.core.sched.scheduler import Scheduler
    tell_clock()
    worker, engine, scheduler = Worker(), EngineCore(), Scheduler()
    scheduler.running, scheduler.waiting, scheduler.kv_cache_manager = [1, 2, 3], [4], Things(usage=0.25)
    worker.work, engine.scheduler = lambda: time.sleep(0.020), scheduler
    def work():
        worker.execute_model(Things(num_scheduled_tokens={"a": 1, "b": 7, "c": 1}))
        time.sleep(0.300)
    engine.work = work
    scheduler._preempt_request("a")
    for _ in range(3): engine.step()
    worker.execute_model(scheduler_output=Things(num_scheduled_tokens={}))
    worker.work = lambda: 1 / 0
    try: worker.execute_model(Things(num_scheduled_tokens={"a": 1}))
    except ZeroDivisionError: print("passed")
        """)
        self.assertEqual(found.out, "passed\n")
        self.assertEqual([(r["b"], r["ran"]) for r in found.of("step")], [(3, 20 * MS)] * 3)
        told = found.of("engine")
        self.assertEqual([(r["server"], r["running"], r["waiting"], r["usage"], r["preempted"]) for r in told], [("vLLM", 3, 1, 0.25, 1)] * 3)

    def test_a_pass_of_continuous_batching_is_a_generation_step(self):
        self.write(self.fake, "transformers", TRANSFORMERS)
        found = self.run_engine("""
    from transformers.generation.continuous_batching.continuous_api import ContinuousBatchProcessor
    from transformers.generation.continuous_batching.offloading_manager import OffloadingManager
    tell_clock()
    one = ContinuousBatchProcessor()
    one.scheduler = Things(active_requests={1: 1, 2: 2}, waiting_requests={3: 3})
    one.inputs_and_outputs, one.cache = Things(requests_in_batch=[1, 2]), Things(compute_free_capacity=lambda: 0.25)
    one.work = lambda: time.sleep(0.020)
    OffloadingManager().offload_requests()
    for _ in range(3): one._generation_step(None)
        """)
        self.assertEqual([(r["b"], r["ran"]) for r in found.of("step")], [(2, 20 * MS)] * 2)
        self.assertEqual([(r["server"], r["running"], r["waiting"], r["usage"], r["preempted"]) for r in found.of("engine")][:1], [("transformers", 2, 1, 0.75, 1)])


if __name__ == "__main__":
    unittest.main()
