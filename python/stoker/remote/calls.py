"""A child process that answers calls over a socket. It ends when the socket closes, and so with this process."""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping
from concurrent.futures import Future
from multiprocessing.connection import Connection
from typing import Any

BATCH = 3  # the place of a batch's bytes in an actor's reply


class Failed(Exception):
    """A call raised an error there; `kind` is the name of its class."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind, self.text = kind, text


class Ended(Failed):
    """The process has ended."""



class Child:
    """Nothing here takes a lock: a collection of garbage, at any moment, may end a worker."""

    END = "its process ended"

    def __init__(self, main: str, environment: Mapping[str, str], output: int | None = None, more: socket.socket | None = None) -> None:
        """Run Python code with the descriptors of its socket, and of one more, in sys.argv. output: of all that it prints."""
        ours, theirs = socket.socketpair()
        self._connection = Connection(ours.detach())
        self._futures: dict[int, Future[Any]] = {}
        self._numbers, self._ended = itertools.count(), False
        self._calls: queue.SimpleQueue[Any] = queue.SimpleQueue()
        passed = [each.fileno() for each in (theirs, more) if each is not None]
        with theirs:
            command, own = [sys.executable, "-c", main, *map(str, passed)], {**os.environ, **environment}
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, pass_fds=passed, env=own)
        _children.add(self)
        for work in self._send, self._receive:
            threading.Thread(target=work, daemon=True, name="stoker-calls").start()

    def call(self, *call: Any) -> Future[Any]:
        future: Future[Any] = Future()
        number = next(self._numbers)
        self._futures[number] = future
        self._calls.put((number, call))
        if self._ended:
            self._fail(number)
        return future

    def has_ended(self) -> bool:
        return self._ended

    def kill(self) -> None:
        self._process.kill()

    def take(self, result: Any) -> Any:
        """Return the result of a call, as it came."""
        return result

    def hear(self, word: Any) -> None:
        """Take what the process says of itself."""

    def leave(self) -> None:
        """Close the socket in a forked child: this process ends it."""
        self._connection.close()

    def _send(self) -> None:
        with contextlib.suppress(OSError):  # the other thread finds its end
            while (call := self._calls.get()) is not None:
                self._connection.send(call)

    def _receive(self) -> None:
        with contextlib.suppress(Exception):  # also if no descriptor was left for a room
            while True:
                number, result, error = self._connection.recv()
                if number is None:
                    self.hear(result)
                    continue
                future = self._futures.pop(number)
                if error:
                    future.set_exception(Failed(*error))
                else:
                    future.set_result(self.take(result))
        self._process.kill()  # if it has lost its way
        self._ended = True
        self._calls.put(None)
        for number in list(self._futures):
            self._fail(number)
        self._process.wait()

    def _fail(self, number: int) -> None:
        future = self._futures.pop(number, None)
        if future is not None:
            future.set_exception(Ended(self.END, "no call is answered"))


_children: weakref.WeakSet[Child] = weakref.WeakSet()


def _leave_all() -> None:
    for child in list(_children):
        child.leave()


os.register_at_fork(after_in_child=_leave_all)
