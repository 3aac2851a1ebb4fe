"""The lines on which coroutines of a server wait: a part of the start-up hook, of serving.py.

Purpose. A coroutine in an `await` is on no thread's stack. While requests are there, the event loop calls `look` ten times a
second. It follows each task down to the innermost coroutine, and sums the time by stack. Of a pool of threads in which calls wait for
their turn it sums where the threads are.
A stream is answered by two tasks: of these the one that listens whether the client goes away waits for nothing that counts.
Limits. A coroutine that runs is on its thread's stack.
"""

import gc
import sys
from time import monotonic_ns
from types import AsyncGeneratorType, CoroutineType, GeneratorType

from . import channel, guarded, now

AWAIT = '{"k":"await","who":"%s","frames":%s,"for":%d}'
EVERY_NS = channel.SECOND // 10
REST = 500  # times as long as a look took, at least, until the next
TASKS = 8  # that one look follows; of more one in so many
INSIDE = 6  # frames that are kept of a chain: the innermost, those from the program's own line on, and the outermost
DEEPEST = 128
STACKS = 64  # different ones of a process; what comes later is not counted
SHORT = 1.0  # seconds: a task that is no request's and sleeps longer makes no batch, it is a clock of the program's own [J]
_AWAITED = {CoroutineType: ("cr_frame", "cr_await"), GeneratorType: ("gi_frame", "gi_yieldfrom"), AsyncGeneratorType: ("ag_frame", "ag_await")}
LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python3", "<stoker>/", "<frozen ")
_STEPS = ("async_generator_asend", "async_generator_athrow")  # awaitables of an asynchronous generator, which only they refer to
LISTENS, STREAMS = "listen_for_disconnect", "stream_response"  # ends of the names of Starlette's and sse-starlette's functions
_FUTURES = ("_asyncio", "asyncio.futures", "asyncio.tasks")

looks = {}  # by the id of their event loop


class Look(object):
    """Reads the tasks of one event loop, while requests are there."""

    def __init__(self, loop, t):
        self.loop, self.last, self.turn = loop, t, 0
        self.wait(EVERY_NS, t)

    def wait(self, ns, t):
        self.due = t + ns
        self.loop.call_later(ns / channel.SECOND, look, self)


def begin():
    """A request came. Return the number of its task; None without an event loop."""
    asyncio = sys.modules.get("asyncio")
    loop = asyncio._get_running_loop() if asyncio is not None else None
    if loop is None:
        return None
    t, known = monotonic_ns(), looks.get(id(loop))
    if known is None or t - known.due > 5 * channel.SECOND:  # that one has ended, or a look at it was lost
        looks[id(loop)] = Look(loop, t)
    return id(asyncio.current_task(loop))


@guarded
def look(one):
    t, state = monotonic_ns(), now.state
    if looks.get(id(one.loop)) is not one:
        return
    asked = state.requests or state.replica
    if asked is None or asked.active == 0:
        del looks[id(one.loop)]
        if state.requests is not None:
            state.requests.tell_silence(t)
        return
    span = max(0, t - one.last - max(0, t - one.due))  # while the loop was blocked, none waited for anything else
    one.last = t
    tasks = list(sys.modules["asyncio"].all_tasks(one.loop))
    every = 1 + len(tasks) // TASKS
    one.turn += 1
    for task in tasks[one.turn % every :: every]:
        asked.awaits.add(task, span * every, asked.tasks)
    asked.awaits.add_pools(span, one.turn)
    asked.awaits.tell(state, t)
    one.wait(max(EVERY_NS, REST * (monotonic_ns() - t)), t)


class Awaits(object):
    """How long coroutines waited, by where, in this process."""

    def __init__(self):
        self.sums = {}
        self.changed, self.told = set(), 0

    def add(self, task, ns, requests):
        frames, waiter, delay, names = follow(task)
        if any(name.endswith(LISTENS) for name in names):
            return
        who = "request" if id(task) in requests or any(name.endswith(STREAMS) for name in names) else "task"
        if not frames or who == "task" and delay >= SHORT:
            return
        self.sum("thread" if is_of_thread(waiter) else who, frames, ns)

    def add_pools(self, ns, turn):
        """Pools of threads in which calls wait for their turn: the frames of one of its threads, for as long as each call is queued."""
        pools = {}
        for thread, calls in list(getattr(sys.modules.get("concurrent.futures.thread"), "_threads_queues", {}).items()):
            if calls.qsize() > 0:
                pools.setdefault(id(calls), (calls, []))[1].append(thread)
        for calls, threads in pools.values():
            frame, chain = sys._current_frames().get(threads[turn % len(threads)].ident), []
            while frame is not None and len(chain) < DEEPEST:
                chain.append(frame)
                frame = frame.f_back
            if chain:
                self.sum("pool", tuple((frame.f_code, frame.f_lineno) for frame in shorten(chain[::-1])), ns * min(TASKS, calls.qsize()))

    def sum(self, who, frames, ns):
        key = who, tuple((id(code), line) for code, line in frames)  # code that was lent to a function holds lists: it has no hash
        if key not in self.sums:
            if len(self.sums) >= STACKS:
                return
            self.sums[key] = [frames, 0]
        self.sums[key][1] += ns
        self.changed.add(key)

    def tell(self, state, t):
        if t - self.told >= channel.SERVER_FLUSH_NS:
            self.told = t
            for key in self.changed:
                frames, ns = self.sums[key]
                places = [(code.co_filename, line, getattr(code, "co_qualname", code.co_name)) for code, line in frames]
                state.channel.put((AWAIT, (key[0], channel.encode(places), ns)))
            self.changed.clear()
        state.after_step(t)


def follow(task):
    """
    The frames of a task's coroutines, outermost first, the future that the innermost awaits, how long it sleeps, if it does, and the
    functions' names.
    """
    chain, delay, deep = [], 0, 0
    while True:
        coroutine = task.get_coro()
        while type(coroutine) in _AWAITED and deep < DEEPEST:
            deep += 1
            frame, awaited = _AWAITED[type(coroutine)]
            frame, coroutine = getattr(coroutine, frame), generator_of(getattr(coroutine, awaited))
            if frame is None:
                break
            chain.append(frame)
            if frame.f_code.co_name == "sleep" and frame.f_code.co_filename.endswith("asyncio/tasks.py"):
                delay = frame.f_locals.get("delay", 0)
        waiter = getattr(task, "_fut_waiter", None)
        left = [one for one in getattr(waiter, "_children", ()) if not one.done()] if type(waiter).__name__ == "_GatheringFuture" else [waiter]
        waiter = left[0] if left else waiter
        if type(waiter).__module__ not in _FUTURES or not hasattr(waiter, "get_coro") or deep >= DEEPEST:
            break
        task = waiter
    frames = tuple((frame.f_code, frame.f_lineno) for frame in shorten(chain))  # the number of a line is computed each time
    return frames, waiter, delay if type(delay) in (int, float) else 0, [frame.f_code.co_name for frame in chain]


def generator_of(awaited):
    """What is awaited; of a step of an asynchronous generator that generator."""
    if type(awaited).__name__ not in _STEPS:
        return awaited
    return next((one for one in gc.get_referents(awaited) if type(one) is AsyncGeneratorType), awaited)


def shorten(chain):
    """The frames that tell what a chain awaits: the HTTP client that it awaits may be twenty deep."""
    if len(chain) <= 2 * INSIDE:
        return chain
    own = len(chain) - INSIDE
    for at in range(len(chain) - 1, 0, -1):
        file = chain[at].f_code.co_filename
        if not any(part in file for part in LIBRARIES):
            own = min(own, at)
            break
    return chain[:1] + chain[own : own + INSIDE][: len(chain) - INSIDE - own] + chain[-INSIDE:]


def is_of_thread(waiter):
    """Whether a thread of a pool gives a future its result."""
    if type(waiter).__module__ not in _FUTURES:
        return False
    return any(getattr(call, "__qualname__", "").startswith("_chain_future.") for call, _ in waiter._callbacks or ())
