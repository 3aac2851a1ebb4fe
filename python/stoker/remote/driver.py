"""Ray's driver, a process beside the trainer: Ray ends a driver whose node it gives up, and the program goes on.

It asks actors for the trainer, and hands their batches over in rooms of shared memory. It prints nothing.
"""

from __future__ import annotations

import array
import contextlib
import itertools
import mmap
import os
import queue
import signal
import socket
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from ..handover.lending import HEAD, Lender
from . import cluster
from .calls import BATCH

_LEAST = 64 << 10  # bytes [J]: a smaller batch goes through the socket, as in the hand-over
_TURN = 32  # batches [J] after which a room was not needed; the trainer holds several of each worker
_THREADS = 16  # [J] that start actors: one for each loader that begins now
_LEAVES = 5.0  # seconds [J] for the cluster to hear that its driver ends


def serve(descriptor: int, rights: int) -> None:
    """Answer the trainer's calls until it ends, and then leave Ray, whose actors end with their driver."""
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:  # they are for the program, which may go on
        signal.signal(number, lambda *_: None)
    driver = _Driver(Connection(descriptor), socket.socket(fileno=rights))
    threading.Thread(target=driver.answer, daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        driver.take_calls()
    leaving = threading.Thread(target=cluster.leave, daemon=True)
    leaving.start()
    leaving.join(_LEAVES)
    os._exit(0)


class _Driver:
    def __init__(self, connection: Connection, rights: socket.socket) -> None:
        self._connection, self._rights = connection, rights
        self._pool = ThreadPoolExecutor(_THREADS)
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._actors: dict[int, Any] = {}
        self._numbers = itertools.count()
        self._shared: dict[int, Future[Any]] = {}  # data sets in Ray's object store
        self._memory: dict[int, int] = {}  # descriptors that came before their call
        self._lender, self._sent = Lender(), 0

    def take_calls(self) -> None:
        while True:
            number, (name, *arguments) = self._connection.recv()
            if name == "fetch":
                self._fetch(number, *arguments)
            else:
                if name == "share":
                    self._shared[arguments[0]] = self._pool.submit(_put, self._take_memory(arguments[0]))
                self._answer_later(number, self._pool.submit(getattr(self, name), *arguments))

    def _fetch(self, number: int, actor: int, *arguments: Any) -> None:
        handle = self._actors.get(actor)
        self._answer_later(number, _killed() if handle is None else handle.call.remote("fetch", *arguments).future())

    def _answer_later(self, number: int, future: Future[Any]) -> None:
        future.add_done_callback(lambda ended: self._answers.put((number, ended)))

    def connect(self, address: str) -> None:
        cluster.connect(address)

    def start(self, count: int, address: str, ahead: int, environment: dict[str, str]) -> Any:
        """Return (number, node, bytes of its store) of so many actors, and the bytes of this node's store."""
        found = []
        for handle, node, store in cluster.start_actors(count, address, ahead, environment, self._say):
            number = next(self._numbers)
            self._actors[number] = handle
            found.append((number, node, store))
        return found, cluster.find_own_store()

    def _say(self, sentence: str) -> None:
        self._answers.put((None, sentence))

    def find_missing(self, actors: list[int], paths: list[str]) -> list[list[str]]:
        return cluster.find_missing([self._actors[each] for each in actors], paths)

    def _take_memory(self, key: int) -> int:
        """Return the descriptor that was sent with a key. It came before the call that names the key."""
        while key not in self._memory:
            head, rights, _, _ = self._rights.recvmsg(HEAD.size, socket.CMSG_SPACE(4))
            self._memory[HEAD.unpack(head)[0]] = array.array("i", rights[0][2])[0]
        return self._memory.pop(key)

    def share(self, key: int) -> None:
        """Return once a data set is in Ray's object store."""
        self._shared[key].result()

    def begin(self, actor: int, key: int, own: bytes, first: int) -> None:
        self._actors[actor].call.remote("begin", self._shared[key].result(), own, first)

    def end(self, actor: int, number: int) -> None:
        self._actors[actor].call.remote("end", number)

    def forget(self, key: int) -> None:
        self._shared.pop(key, None)

    def kill(self, actor: int) -> None:
        cluster.kill(self._actors.pop(actor, None))

    def answer(self) -> None:
        """Send what became of calls: one thread, so that descriptors and answers have one order."""
        with contextlib.suppress(OSError):  # the trainer has ended
            while True:
                number, found = self._answers.get()
                self._connection.send(self._make_answer(number, found))
                del found

    def _make_answer(self, number: int | None, found: Any) -> Any:
        if number is None:
            return None, found, None
        if (error := found.exception()) is not None:
            return number, None, (type(error).__name__, str(error).strip())
        result = found.result()
        if isinstance(result, tuple) and len(result) > BATCH and result[BATCH].nbytes >= _LEAST:
            with contextlib.suppress(OSError):  # no descriptor is left: it goes through the socket
                result = (*result[:BATCH], self._hand_over(result[BATCH]), *result[BATCH + 1 :])
        return number, result, None

    def _hand_over(self, blob: np.ndarray) -> tuple[int, int, int, list[int] | None]:
        """Copy a batch into a room. Returns the room's number and size, the batch's bytes and now and then the rooms that are kept."""
        number, memory, loan = self._lender.lend(blob.nbytes)
        try:
            np.frombuffer(memory, np.uint8, blob.nbytes)[:] = blob
            rights = array.array("i", [loan])
            self._rights.sendmsg([HEAD.pack(number)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        finally:
            os.close(loan)
        self._sent += 1
        if self._sent % _TURN:
            return number, len(memory), blob.nbytes, None
        self._lender.turn()
        return number, len(memory), blob.nbytes, self._lender.list_rooms()


def _put(descriptor: int) -> Any:
    import ray

    try:
        memory = mmap.mmap(descriptor, os.fstat(descriptor).st_size, prot=mmap.PROT_READ)
        return ray.put(np.frombuffer(memory, np.uint8))
    finally:
        os.close(descriptor)


def _killed() -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(LookupError("it was killed"))
    return future
