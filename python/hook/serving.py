"""The requests of a server, and the passes of vLLM: a part of the start-up hook, loaded with a server's module or vLLM.

Purpose. It counts the requests that uvicorn hands to its program (FastAPI, LitServe, Ray Serve's proxy, BentoML, vLLM,
transformers serve), and those of http.server, aiohttp, Tornado, gRPC, waitress, gunicorn and sockets of ZeroMQ that reply, and the messages of websockets in a process that
has loaded torch: how many came, how many were answered, how long none was there. Of each it takes three times: when it came, when the first byte of its answer was sent
(uvicorn), and when the answer was done. own.py counts the passes of the model, and this file those of vLLM.
Limits. It keeps no path, header or body. It does not count probes and metrics as requests.
It cannot see a request in the kernel's socket while the event loop is blocked: that has not come yet.
"""

import sys
from _thread import RLock
from _thread import get_native_id as native_id
from functools import wraps
from inspect import isasyncgenfunction, iscoroutinefunction
from time import monotonic_ns

from . import awaits, channel, guarded, lend, now

REQUEST = '{"k":"request","t":%d,"f":%d,"d":%d}'
TOTALS = '{"k":"serve","t":%d,"arrived":%d,"answered":%d,"unasked":%d,"flight":%d,"active":%d,"pieces":%d}'
MOST_TOLD = 256  # requests a second that are sent one by one; of more one in so many
# Not for the model: probes of an orchestrator, metrics, documentation.
PROBES = frozenset(
    "/health /healthz /health/live /health/ready /livez /readyz /ready /live /ping /metrics /docs /openapi.json /favicon.ico /-/healthz /-/routes /v1/models /version /load".split()
)
_IDLE_METHODS = ("HEAD", "OPTIONS")


class Request(object):
    """One request that is being answered."""

    __slots__ = ("came", "first", "state", "task")


class Requests(object):
    """Sums over the requests of this process."""

    def __init__(self, state, t):
        self.state = state
        self.lock = RLock()  # http.server and gRPC answer in threads; a signal's handler may come while it is held
        self.arrived = self.answered = self.active = 0
        self.pieces = 0  # passes of the model over another part of the tensor that the pass before had a part of
        self.unasked = self.flight = 0  # ns without a request, and ns of all requests together
        self.changed = self.told = t
        self.told_active = 0
        self.second, self.count, self.every = t, 0, 1  # answers since `second`; one in `every` is sent
        self.awaits, self.tasks = awaits.Awaits(), set()  # the numbers of the tasks that answer requests

    def change(self, t, by):
        span = t - self.changed
        if self.active > 0:
            self.flight += span * self.active
        else:
            self.unasked += span
        self.changed = t
        self.active = max(0, self.active + by)

    def begin(self, t):
        with self.lock:
            self.change(t, 1)
            self.arrived += 1
            self.tell_totals(t, self.told_active == 0)
        request = Request()
        request.came, request.first, request.state = t, 0, self.state
        request.task = awaits.begin()
        self.tasks.add(request.task)
        return request

    def end(self, request, t):
        with self.lock:
            self.change(t, -1)
            self.tasks.discard(request.task)
            self.answered += 1
            self.count += 1
            if t - self.second >= channel.SECOND:
                self.every = 1 + self.count // MOST_TOLD
                self.second, self.count = t, 0
            if self.answered % self.every == 0:
                first = request.first or t
                self.state.channel.put((REQUEST, (request.came, first - request.came, t - request.came)))
            self.tell_totals(t, request.task is None and self.active == 0 and self.told_active > 0)

    def tell_totals(self, t, at_once):
        """Counters that only grow: the newest are all that is needed, ten times a second.

        That a request came when none was there is sent at once: the event loop may be blocked by it for seconds. So is that the
        last one is done, as nobody may ask for minutes; where an event loop has timers, by the next of them, and once for all
        requests until then. The reader counts the silence of a server by what was told last.
        """
        if not at_once and t - self.told < channel.FLUSH_NS:
            return
        self.told, self.told_active = t, self.active
        self.state.channel.put((TOTALS, (t, self.arrived, self.answered, self.unasked, self.flight, self.active, self.pieces)))
        self.state.after_step(t)
        if at_once and self.state.channel.records:
            self.state.flush(t)

    def tell_silence(self, t):
        """A timer of the event loop finds that no request is there."""
        with self.lock:
            if self.active == 0 and self.told_active > 0:
                self.change(t, 0)
                self.tell_totals(t, True)


@guarded
def begin(cycle):
    """A request was read; None if it is not for the model."""
    scope = vars(cycle).get("scope")
    if type(scope) is not dict or scope.get("method") in _IDLE_METHODS or scope.get("path") in PROBES:
        return None
    state = now.state
    request = state.requests.begin(monotonic_ns())
    cycle._stoker = request
    return request


@guarded
def sends(cycle, message):
    request = vars(cycle).get("_stoker")
    if request is not None and request.first == 0 and type(message) is dict and message.get("body"):
        request.first = monotonic_ns()


@guarded
def end(request):
    if request.state is now.state:
        now.state.requests.end(request, monotonic_ns())


def _run_in_place_of(original):
    async def run_asgi(self, app):
        request = begin(self)
        try:
            return await original(self, app)
        finally:
            if request is not None:
                end(request)

    return run_asgi


def _send_in_place_of(original):
    def send(self, message):
        sends(self, message)
        return original(self, message)  # a coroutine: it runs where its caller awaits it

    return send


watched = []  # whether requests are counted in this process


def patch(module):
    watched.append(True)
    if now.state.requests is None:
        now.state.serve()
    cycle = module.RequestResponseCycle
    lend.put_in_place(((cycle, "run_asgi", _run_in_place_of), (cycle, "send", _send_in_place_of)))


# ---------------------------------------------------------------------------------------------------------------------
# Servers that programs of all kinds use: a metrics page, a dashboard, workers that talk to one another. Their requests count
# where torch is loaded, from the first one on.


@guarded
def begin_in_torch(method, path):
    """A request came to a server of any program; None if it is not for a model."""
    if now.state is None or "torch" not in sys.modules or method in _IDLE_METHODS or path.partition("?")[0] in PROBES:
        return None
    if now.state.requests is None:
        now.state.serve()
    return now.state.requests.begin(monotonic_ns())


def _parse_in_place_of(original):
    def parse_request(self):
        whole = original(self)
        if whole and "_stoker" in vars(self):
            self._stoker = begin_in_torch(self.command, self.path)
        return whole

    return parse_request


def _handle_one_in_place_of(original):
    def handle_one_request(self):
        self._stoker = None  # only a request that ends here may begin in parse_request
        try:
            return original(self)
        finally:
            request = vars(self).pop("_stoker", None)
            if request is not None:
                end(request)

    return handle_one_request


def patch_http(module):
    handler = module.BaseHTTPRequestHandler
    lend.put_in_place(((handler, "parse_request", _parse_in_place_of), (handler, "handle_one_request", _handle_one_in_place_of)))


def _counted(original, begins):
    """Make a coroutine function that counts a request for each call. begins is given its arguments, and tells which."""

    async def call(*args, **kwargs):
        begun = begins(*args)
        try:
            return await original(*args, **kwargs)
        finally:
            if begun is not None:
                end(begun)

    return call


@guarded
def begin_http(request):
    """A request came to aiohttp or Tornado; None of one that opens a websocket: its messages are counted one by one."""
    headers = getattr(request, "headers", None) or {}
    if (headers.get("Upgrade") or "").lower() == "websocket":
        return None
    return begin_in_torch(request.method, request.path)


def _handle_request_in_place_of(original):
    answered = _counted(original, lambda handler, request, *_: begin_http(request))

    async def _handle_request(self, request, *args, **kwargs):
        try:
            return await answered(self, request, *args, **kwargs)
        finally:
            end_socket(request)

    return _handle_request


def patch_aiohttp(module):
    lend.put_in_place(((module.RequestHandler, "_handle_request", _handle_request_in_place_of),))


def _execute_request_in_place_of(original):
    return _counted(original, lambda handler, *_: begin_http(handler.request))


def patch_tornado(module):
    lend.put_in_place(((module.RequestHandler, "_execute", _execute_request_in_place_of),))


def _handle_call_in_place_of(original):
    def _handle_call(*args, **kwargs):
        state, answer = original(*args, **kwargs)
        if answer is not None:
            begun = begin_in_torch("POST", "")
            if begun is not None:
                answer.add_done_callback(lambda _: end(begun))
        return state, answer

    return _handle_call


def patch_grpc(module):
    lend.put_in_place(((module, "_handle_call", _handle_call_in_place_of),))


def _counted_pieces(original):
    """Make a function that counts a request for each call of one that gives its answer in pieces, until the last of them."""

    async def call(*args, **kwargs):
        begun, pieces = begin_in_torch("POST", ""), original(*args, **kwargs)
        try:
            async for piece in pieces:
                yield piece
        finally:
            if begun is not None:
                end(begun)
            await pieces.aclose()

    return call


def _rpc_method_handler_in_place_of(original):
    def rpc_method_handler(behavior, *args, **kwargs):
        if iscoroutinefunction(behavior):
            behavior = wraps(behavior)(_counted(behavior, lambda *_: begin_in_torch("POST", "")))
        elif isasyncgenfunction(behavior):
            behavior = wraps(behavior)(_counted_pieces(behavior))
        return original(behavior, *args, **kwargs)

    return rpc_method_handler


def patch_grpc_coroutines(module):
    """Calls of grpc.aio: its server is native code, and is given the program's coroutines one by one."""
    names = ("unary_unary_rpc_method_handler", "stream_unary_rpc_method_handler", "unary_stream_rpc_method_handler")
    lend.put_in_place(tuple((module, name, _rpc_method_handler_in_place_of) for name in names))


class Replica(object):
    """The requests that a replica of Ray Serve answers: its proxy counts them. Their coroutines are looked at here."""

    def __init__(self):
        self.active, self.awaits, self.tasks = 0, awaits.Awaits(), set()

@guarded
def begin_in_replica():
    if now.state is None or "torch" not in sys.modules:
        return None
    if now.state.replica is None:
        now.state.replica = Replica()
    replica = now.state.replica
    replica.active += 1
    task = awaits.begin()
    replica.tasks.add(task)
    return replica, task


@guarded
def end_in_replica(replica, task):
    replica.active -= 1
    replica.tasks.discard(task)


def _call_in_place_of(original):
    async def _call_func_or_gen(*args, **kwargs):
        begun = begin_in_replica()
        try:
            return await original(*args, **kwargs)
        finally:
            if begun is not None:
                end_in_replica(*begun)

    return _call_func_or_gen


def patch_replica(module):
    wrapper = vars(module).get("UserCallableWrapper")
    if wrapper is not None and iscoroutinefunction(vars(wrapper).get("_call_func_or_gen")):
        lend.put_in_place(((wrapper, "_call_func_or_gen", _call_in_place_of),))


# A message of a websocket is a request from when the program is given it until it asks for the next one.


def _receive_in_place_of(original):
    async def receive(self, *args, **kwargs):
        end_message(self)
        message = await original(self, *args, **kwargs)
        begin_message(self, message)
        return message

    return receive


@guarded
def begin_message(connection, message):
    if type(message) is dict:  # uvicorn's have a type; those of websockets are the client's bytes or text
        if message.get("type") != "websocket.receive":
            return
    elif not hasattr(connection, "server"):
        return  # a client's
    connection._stoker = begin_in_torch("POST", "")


@guarded
def end_message(connection):
    request = vars(connection).pop("_stoker", None)
    if request is not None:
        end(request)


def _run_socket_in_place_of(original):
    async def run_asgi(self):
        try:
            return await original(self)
        finally:
            end_message(self)

    return run_asgi


def _connection_lost_in_place_of(original):
    def connection_lost(self, *args):
        end_message(self)
        return original(self, *args)

    return connection_lost


def patch_uvicorn_sockets(module):
    for name, receive in (("WebSocketProtocol", "asgi_receive"), ("WebSocketsSansIOProtocol", "receive"), ("WSProtocol", "receive")):
        if name in vars(module):
            protocol = vars(module)[name]
            lend.put_in_place(((protocol, receive, _receive_in_place_of), (protocol, "run_asgi", _run_socket_in_place_of)))


def patch_websockets(module):
    connection = module.Connection
    lend.put_in_place(((connection, "recv", _receive_in_place_of), (connection, "connection_lost", _connection_lost_in_place_of)))


_TEXT, _BINARY = 1, 2  # what a message of a websocket is, in its protocol
open_sockets = {}  # of aiohttp: the number of the request that opened it, and the socket


def _receive_aiohttp_in_place_of(original):
    async def receive(self, *args, **kwargs):
        end_message(self)
        message = await original(self, *args, **kwargs)
        begin_aiohttp_message(self, message)
        return message

    return receive


@guarded
def begin_aiohttp_message(socket, message):
    if message.type in (_TEXT, _BINARY):
        open_sockets[id(socket._req)] = socket
        socket._stoker = begin_in_torch("POST", "")


@guarded
def end_socket(request):
    socket = open_sockets.pop(id(request), None)
    if socket is not None:
        end_message(socket)


def patch_aiohttp_sockets(module):
    lend.put_in_place(((module.WebSocketResponse, "receive", _receive_aiohttp_in_place_of),))


def patch_tornado_sockets(module):
    def handle_message_in_place_of(original):
        def _handle_message(self, opcode, data):
            begun = begin_tornado_message(self, opcode, module.WebSocketHandler)
            future = None
            try:
                future = original(self, opcode, data)
                return future
            finally:
                if begun is not None:
                    end_when_done(begun, future)

        return _handle_message

    lend.put_in_place(((module.WebSocketProtocol13, "_handle_message", handle_message_in_place_of),))


@guarded
def begin_tornado_message(protocol, opcode, server):
    if opcode in (_TEXT, _BINARY) and isinstance(protocol.handler, server):
        return begin_in_torch("POST", "")
    return None


@guarded
def end_when_done(request, future):
    if future is None:
        end(request)
    else:
        future.add_done_callback(lambda _: end(request))


_REP, _MORE = 4, 2  # of ZeroMQ: the kind of socket that answers each message before it takes the next; more parts of a message follow


def _recv_in_place_of(original):
    def recv(self, *args, **kwargs):
        part = original(self, *args, **kwargs)
        begin_reply(self)
        return part

    return recv


def _send_part_in_place_of(original):
    def send(self, data, flags=0, *args, **kwargs):
        try:
            return original(self, data, flags, *args, **kwargs)
        finally:
            end_reply(self, flags)

    return send


@guarded
def begin_reply(socket):
    if getattr(socket, "socket_type", None) == _REP and "_stoker" not in vars(socket):
        vars(socket)["_stoker"] = begin_in_torch("POST", "")


@guarded
def end_reply(socket, flags):
    if flags & _MORE == 0:
        request = vars(socket).pop("_stoker", None)
        if request is not None:
            end(request)


def patch_zmq(module):
    socket = module.Socket
    if "recv" not in vars(socket):
        socket.recv = socket.recv  # of its base, which is native code
    lend.put_in_place(((socket, "recv", _recv_in_place_of), (socket, "send", _send_part_in_place_of)))


def _add_task_in_place_of(original):
    def add_task(self, task):
        comes(task)  # it may wait for a thread of waitress's
        return original(self, task)

    return add_task


@guarded
def comes(connection):
    request = connection.requests[0]
    if not request.error:
        connection._stoker = begin_in_torch(request.command, request.path)


def _service_in_place_of(original):
    def service(self):
        request = vars(self).pop("_stoker", None)  # the next one of the connection may come within this call
        try:
            return original(self)
        finally:
            if request is not None:
                end(request)

    return service


def patch_waitress(module):
    dispatcher = sys.modules["waitress.task"].ThreadedTaskDispatcher
    lend.put_in_place(((dispatcher, "add_task", _add_task_in_place_of), (module.HTTPChannel, "service", _service_in_place_of)))


def _handle_wsgi_in_place_of(original):
    def handle_request(self, *args):
        request = begin_wsgi(*args[:2])
        try:
            return original(self, *args)
        finally:
            if request is not None:
                end(request)

    return handle_request


@guarded
def begin_wsgi(first, second):
    """A worker of gunicorn is given a request: gthread's gets it first, the others a listener before it."""
    request = first if hasattr(first, "method") else second
    return begin_in_torch(request.method, request.path)


def patch_gunicorn(module):
    """The module of a kind of worker: sync, gthread, or what gevent's and eventlet's are made of."""
    names = ("SyncWorker", "ThreadWorker", "AsyncWorker")
    lend.put_in_place([(vars(module)[name], "handle_request", _handle_wsgi_in_place_of) for name in names if name in vars(module)])


# ---------------------------------------------------------------------------------------------------------------------
# vLLM. A pass is one call of its worker: it runs the model for all requests that the scheduler chose. The engine, which may be
# another process, has the queue and the cache.

ENGINE = '{"k":"engine","server":"%s","running":%d,"waiting":%d,"usage":%.4f,"preempted":%d}'


class Engine(object):
    """What an engine of vLLM's has told, in this process."""

    def __init__(self):
        self.told = self.preempted = 0


engine = Engine()


def _engine_step_in_place_of(original):
    def step(self, *args, **kwargs):
        try:
            return original(self, *args, **kwargs)
        finally:
            engine_stepped(self)

    step.__wrapped__ = original
    return step


@guarded
def engine_stepped(core):
    scheduler = core.scheduler
    usage = getattr(getattr(scheduler, "kv_cache_manager", None), "usage", 0.0)
    tell_engine("vLLM", len(scheduler.running), len(scheduler.waiting), usage)


def tell_engine(server, running, waiting, usage):
    t = monotonic_ns()
    if t - engine.told >= channel.FLUSH_NS or not running and not waiting:  # nothing more comes after the last step
        engine.told = t
        now.state.channel.put((ENGINE, (server, running, waiting, usage, engine.preempted)))
        now.state.after_step(t)


def _execute_in_place_of(original):
    def execute_model(self, *args, **kwargs):
        begun = pass_begins(*args[:1], *kwargs.values())
        try:
            return original(self, *args, **kwargs)
        finally:
            if begun is not None:
                pass_ends(begun)

    execute_model.__wrapped__ = original
    return execute_model


@guarded
def pass_begins(chosen, *_):
    """The worker is given what the scheduler chose: the step begins, unless no request is in it."""
    return begin_pass(len(chosen.num_scheduled_tokens))


def begin_pass(requests):
    own = now.state.own
    if own is None or requests == 0:
        return None
    own.only_steps()  # the model's own passes lie within
    begun = own.boundary(monotonic_ns(), native_id(), False)
    begun.samples = requests
    return begun


@guarded
def pass_ends(begun):
    begun.ran = monotonic_ns() - begun.t


def _preempt_in_place_of(original):
    def _preempt_request(self, *args, **kwargs):
        preempts()
        return original(self, *args, **kwargs)

    return _preempt_request


@guarded
def preempts():
    engine.preempted += 1


def patch_engine(module):
    core = module.EngineCore
    lend.put_in_place([(core, name, _engine_step_in_place_of) for name in ("step", "step_with_batch_queue") if name in vars(core)])


def patch_worker(module):
    lend.put_in_place(((module.Worker, "execute_model", _execute_in_place_of),))


def patch_scheduler(module):
    if "_preempt_request" in vars(module.Scheduler):
        lend.put_in_place(((module.Scheduler, "_preempt_request", _preempt_in_place_of),))


# ---------------------------------------------------------------------------------------------------------------------
# transformers' continuous batching: the thread of its manager makes the passes. What `generate` calls, own.py counts.


def _generation_step_in_place_of(original):
    def _generation_step(self, *args, **kwargs):
        begun = batch_begins(self)
        try:
            return original(self, *args, **kwargs)
        finally:
            if begun is not None:
                pass_ends(begun)

    _generation_step.__wrapped__ = original
    return _generation_step


@guarded
def batch_begins(processor):
    scheduler, chosen = processor.scheduler, getattr(processor.inputs_and_outputs, "requests_in_batch", None)
    running = len(scheduler.active_requests)
    free = getattr(processor.cache, "compute_free_capacity", None)
    tell_engine("transformers", running, len(scheduler.waiting_requests), 1 - free() if free is not None else 0.0)
    return begin_pass(len(chosen) if type(chosen) is list else running)


def _offload_in_place_of(original):
    def offload_requests(self, *args, **kwargs):
        done = original(self, *args, **kwargs)
        if done:
            preempts()
        return done

    return offload_requests


def patch_batching(module):
    lend.put_in_place(((module.ContinuousBatchProcessor, "_generation_step", _generation_step_in_place_of),))


def patch_offloading(module):
    if "offload_requests" in vars(module.OffloadingManager):
        lend.put_in_place(((module.OffloadingManager, "offload_requests", _offload_in_place_of),))
