"""A worker on this machine in the place of an actor that the cluster cannot replace: a process with the same class."""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

_MAIN = "import sys; from stoker.remote import here; here.serve(int(sys.argv[1]), int(sys.argv[2]))"


class Handle:
    """A stand-in for an actor's handle: handle.call.remote("name", …).future()."""

    def __init__(self, calls: int, environment: Mapping[str, str]) -> None:
        ours, theirs = socket.socketpair()
        self._connection, self._guard = Connection(ours.detach()), threading.Lock()
        self._futures: dict[int, Future[Any]] = {}
        self._count: int | None = 0  # calls so far; None once it has ended
        with theirs:
            command = [sys.executable, "-c", _MAIN, str(theirs.fileno()), str(calls)]
            # Its output is the program's, as that of torch's own workers.
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], env={**os.environ, **environment}
            )
        self.call = self
        self._calls: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for work in self._send, self._receive:
            threading.Thread(target=work, daemon=True, name="stoker-worker").start()

    def remote(self, *call: Any) -> _Call:
        future: Future[Any] = Future()
        with self._guard:
            number, ended = self._count, self._count is None
            if number is not None:
                self._count, self._futures[number] = number + 1, future
                self._calls.put((number, call))
        if ended:
            future.set_exception(ConnectionError("it has ended"))
        return _Call(future)

    def _send(self) -> None:
        with contextlib.suppress(OSError):  # the other thread finds its end
            while (call := self._calls.get()) is not None:
                self._connection.send(call)

    def _receive(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                number, result, error = self._connection.recv()
                future = self._futures.pop(number)
                if error:
                    future.set_exception(RuntimeError(error))
                else:
                    future.set_result(result)
        with self._guard:
            self._count, left = None, list(self._futures.values())
        self._calls.put(None)
        for future in left:
            future.set_exception(ConnectionError("it has ended"))
        self._process.wait()

    def kill(self) -> None:
        self._process.kill()


class _Call:
    def __init__(self, future: Future[Any]) -> None:
        self._future = future

    def future(self) -> Future[Any]:
        return self._future


def serve(descriptor: int, calls: int) -> None:
    """Run a worker in this process until the other end of its socket closes."""
    from .actor import Worker

    connection, guard, worker = Connection(descriptor), threading.Lock(), Worker()

    def answer(number: int, name: str, *arguments: Any) -> None:
        result, error = None, ""
        try:
            result = getattr(worker, name)(*arguments)
        except Exception as found:
            error = f"{type(found).__name__}: {found}"
        with guard:
            connection.send((number, result, error))

    pool = ThreadPoolExecutor(calls)
    with contextlib.suppress(EOFError, OSError):
        while True:
            number, call = connection.recv()
            pool.submit(answer, number, *call)
    os._exit(0)  # threads of the pool wait for a reply
