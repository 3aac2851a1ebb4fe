"""A worker on this machine in the place of an actor that the cluster cannot replace: a process with the same class."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

from .calls import Child

_MAIN = "import sys; from stoker.remote import here; here.serve(int(sys.argv[1]), {})"


class Handle(Child):
    """A stand-in for an actor's handle. What it prints is the program's, as with torch's own workers."""

    def __init__(self, calls: int, environment: Mapping[str, str]) -> None:
        super().__init__(_MAIN.format(calls), environment)

    def begin(self, shared: Any, *arguments: Any) -> Future[Any]:
        return self.call("begin", shared.read(), *arguments)


def serve(descriptor: int, calls: int) -> None:
    """Run a worker in this process until the other end of its socket closes."""
    from .actor import Worker

    connection, guard, worker = Connection(descriptor), threading.Lock(), Worker()

    def answer(number: int, name: str, *arguments: Any) -> None:
        result, error = None, None
        try:
            result = getattr(worker, name)(*arguments)
        except Exception as found:
            error = type(found).__name__, str(found)
        with guard:
            connection.send((number, result, error))

    pool = ThreadPoolExecutor(calls)
    with contextlib.suppress(EOFError, OSError):
        while True:
            number, call = connection.recv()
            pool.submit(answer, number, *call)
    os._exit(0)  # threads of the pool wait for a reply
