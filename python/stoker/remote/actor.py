"""What runs in Ray: one worker of a DataLoader. torch's worker loop runs in a thread, and reads and writes queues here."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import io
import os
import pickle
import queue
import random
import sys
import threading
import time
import types
from typing import Any

import numpy as np
import torch

from . import modules, packing
from .packing import cloudpickle

COMPARED = 64 << 20  # bytes [J]: a larger data set is not pickled again to see whether it has changed
_LOOKS = 5.0  # seconds [J] between two checks for files that the object store wrote
_SPILLS = "ray_spilled_objects"  # the beginning of their folder's name
_TRIES = 2  # fetches after which it is


#: A reply, as plain values: in the trainer this package may have another name.
#: (number of the question, index of the batch, its head, its bytes, states of the random number generators after it as
#: bytes, a file that this node does not have, whether fetches change the data set or None if that is not known, figures:
#: (seconds of the fetch, of it on a core, bytes that the node's store spilled, seconds since the question came)). Of a question without a batch: the number alone.
Reply = tuple[Any, ...]


class Unfit(Exception):
    """A worker could not begin: its node lacks a module, or another version of one is there."""


class Worker:
    """The actor. Its methods run while the loop runs. Questions may arrive in any order."""

    def __init__(self) -> None:
        self._replies = _Replies()
        self._questions = _Questions(self._replies)
        self._early: dict[int, Any] = {}
        self._came: dict[int, float] = {}
        self._next: int | None = None
        self._guard = threading.Lock()
        self._unfit = ""

    def name_node(self) -> tuple[str, str]:
        """Return the node's name, and Ray's number of it: the actor is there."""
        import ray

        return os.uname().nodename, ray.get_runtime_context().get_node_id()

    def list_missing(self, paths: list[str]) -> list[str]:
        return [path for path in paths if not os.path.exists(path)]

    def begin(self, shared: bytes | np.ndarray, own: bytes, first: int) -> None:
        """Start the loop.

        shared: the data set and its functions, pickled; own: the loop's place, its other arguments and the trainer's process.
        first: number of the first question.
        """
        try:
            self._begin(shared, own, first)
        except Exception as error:
            self._unfit = f"{type(error).__name__}: {error}"
            self._replies.queue.put(None)

    def _begin(self, shared: bytes | np.ndarray, own: bytes, first: int) -> None:
        home, arguments, process = cloudpickle.loads(own)
        _become_alike(process)
        dataset, collate, init, state = cloudpickle.loads(shared)
        modules.take_over(state)
        arguments.setdefault("collate_fn", collate)
        arguments.setdefault("init_fn", init)
        self._done = threading.Event()
        self._replies.watched = _Watched(dataset) if len(shared) <= COMPARED else None
        arguments.update(dataset_holder=[dataset], index_queue=self._questions, data_queue=self._replies, done_event=self._done)
        with self._guard:
            self._next = first
            self._pass_on()
        loop = getattr(importlib.import_module(home[0]), home[1])
        threading.Thread(target=self._run, args=(loop, arguments, process["thread"]), daemon=True).start()

    def _run(self, loop: Any, arguments: dict[str, Any], thread: dict[str, Any]) -> None:
        try:
            _continue_thread(thread)
            loop(**arguments)
        finally:
            self._replies.queue.put(None)

    def fetch(self, number: int, question: bytes, state: bytes | None) -> Reply | None:
        """Give the loop a question once all before it have come, and wait for its next reply; None: the loop has ended. Raises Unfit.

        state: of the random number generators before it, None for the one that they have.
        """
        self._came[number] = time.monotonic()
        self._take(number, cloudpickle.loads(question), state)
        reply = self._replies.queue.get()
        if reply is None:
            self._replies.queue.put(None)
            if self._unfit:
                raise Unfit(self._unfit)
            return None
        inside = time.monotonic() - self._came.pop(reply[0])
        return reply if len(reply) == 1 else (*reply[:-1], (*reply[-1], inside))

    def end(self, number: int) -> None:
        """End the loop after all questions before this one."""
        self._take(number, None, None)

    def _take(self, number: int, question: Any, state: bytes | None) -> None:
        with self._guard:
            self._early[number] = question, state
            self._pass_on()

    def _pass_on(self) -> None:
        while self._next is not None and self._next in self._early:
            question, state = self._early.pop(self._next)
            if question is None:
                self._done.set()
            self._questions.queue.put((self._next, question, state))
            self._next += 1


class _Questions:
    """The loop's index queue."""

    def __init__(self, replies: _Replies) -> None:
        self.queue: queue.Queue[Any] = queue.Queue()
        self._replies = replies

    def get(self, timeout: float | None = None) -> Any:
        """Wait for a question. Its random numbers go on after the last one's, whatever Ray draws in this process meanwhile."""
        self._replies.close_question()
        if self._replies.state is None:  # the loop has just begun
            self._replies.state = random_state()
        number, question, state = self.queue.get(timeout=timeout)
        set_random_state(self._replies.state if state is None else state)
        self._replies.open_question(number)
        return question


class _Replies:
    """The loop's data queue. It packs a batch at once, because the data set may change it later."""

    def __init__(self) -> None:
        self.queue: queue.Queue[Reply | None] = queue.Queue()
        self.watched: _Watched | None = None
        self.state: bytes | None = None  # of the random number generators after the last question
        self._open: int | None = None  # number of the question that the loop works at
        self._spilled = _Spilled()

    def open_question(self, number: int) -> None:
        self._open, self._begun = number, (time.monotonic(), time.thread_time())

    def close_question(self) -> None:
        """Reply to a question that the loop passed over: an iterable data set had ended."""
        if self._open is not None:
            self.queue.put((self._open,))
            self._open = None

    def put(self, what: Any) -> None:
        head, blob = self._pack(what)
        changed = None if self.watched is None else self.watched.has_changed()
        took = time.monotonic() - self._begun[0], time.thread_time() - self._begun[1], self._spilled.count_bytes()
        number, self._open = self._open, None
        self.state = random_state()
        self.queue.put((number, what[0], head, blob, self.state, _missing_file(what[1]), changed, took))

    def _pack(self, what: Any) -> tuple[bytes, np.ndarray]:
        from torch._utils import ExceptionWrapper

        try:
            return packing.pack(what)
        except Exception:  # a batch that cannot be pickled; torch only prints that
            return packing.pack((what[0], ExceptionWrapper(where="in a DataLoader worker of a Ray cluster")))

    def cancel_join_thread(self) -> None:
        pass

    def close(self) -> None:
        pass


class _Spilled:
    """What Ray's object store of this node has written to a disk, because it was full."""

    def __init__(self) -> None:
        self._looked, self._bytes = -_LOOKS, 0

    def count_bytes(self) -> int:
        now = time.monotonic()
        if now - self._looked >= _LOOKS:
            self._looked, self._bytes = now, sum(map(_size_of, self._list_files()))
        return self._bytes

    def _list_files(self) -> list[str]:
        """Return where Ray writes unless it was told another place."""
        ray = sys.modules.get("ray")
        if ray is None or not ray.is_initialized():  # a process that took an actor's place
            return []
        runtime = ray.get_runtime_context()
        folder = os.path.join(ray._private.worker.global_worker.node.get_session_dir_path(), f"{_SPILLS}_{runtime.get_node_id()}")
        return [os.path.join(folder, name) for name in os.listdir(folder)] if os.path.isdir(folder) else []


def _size_of(file: str) -> int:
    with contextlib.suppress(OSError):  # removed meanwhile
        return os.path.getsize(file)
    return 0


class _Watched:
    """A data set and the program's modules, to see whether fetching changes them: then a worker cannot be replaced in the middle."""

    def __init__(self, dataset: Any) -> None:
        self._dataset, self._count, self._changed = dataset, 0, False
        self._modules = list(modules.collect(only_own=True))
        self._digest = self._compute_digest()

    def has_changed(self) -> bool:
        self._count += 1
        if self._count <= _TRIES and not self._changed:
            self._changed = self._compute_digest() != self._digest
        return self._changed

    def _compute_digest(self) -> str:
        try:
            out = io.BytesIO()
            _StatePickler(out).dump(self._dataset)
            held = modules.collect(only_own=True)
            for name in self._modules:
                out.write(held.get(name, b""))
            return hashlib.sha256(out.getvalue()).hexdigest()
        except Exception as error:  # it holds an open file by now
            return f"{type(error).__name__}: {error}"


class _StatePickler(cloudpickle.Pickler):
    """Pickles values only: of code that is sent by value, its names, attributes, closures and global values.

    How Ray's own pickler writes code depends on which modules are imported by then.
    """

    def reducer_override(self, thing: object) -> Any:
        if isinstance(thing, types.ModuleType):
            return str, (thing.__name__,)
        if (mapped := packing.reduce_mapped(thing)) is not None:
            return tuple, (mapped[1],)
        if isinstance(thing, types.FunctionType):
            cells = [cell.cell_contents for cell in thing.__closure__ or ()]
            names = [thing.__globals__.get(name) for name in thing.__code__.co_names]
            return tuple, ([thing.__qualname__, *(value for value in cells + names if not _is_code(value))],)
        if isinstance(thing, type) and thing.__module__ == "__main__":
            return tuple, ([thing.__qualname__, *(value for value in vars(thing).values() if isinstance(value, _PLAIN))],)
        return super().reducer_override(thing)


_PLAIN = (bool, int, float, complex, str, bytes, list, dict, set, tuple, np.ndarray, torch.Tensor)  # a class's state


def _is_code(value: object) -> bool:
    return callable(value) or isinstance(value, types.ModuleType)


def _become_alike(process: dict[str, Any]) -> None:
    """Take over what a worker process has of its trainer."""
    sys.argv = process["argv"]
    os.environ.update(process["environment"])
    time.tzset()
    torch.set_default_dtype(process["dtype"])
    if os.path.isdir(process["folder"]):
        os.chdir(process["folder"])


def _continue_thread(thread: dict[str, Any]) -> None:
    """Take over what a worker's thread has of the one that made its iterator."""
    np.seterr(**thread["numpy"])
    torch.set_grad_enabled(thread["grad"])
    sys.setrecursionlimit(max(thread["depth"], sys.getrecursionlimit()))
    if thread["decimal"] is not None:
        importlib.import_module("decimal").setcontext(thread["decimal"])


def random_state() -> bytes:
    """Return the states of all generators, pickled: the trainer keeps them and never reads them."""
    return pickle.dumps((random.getstate(), np.random.get_state(), torch.get_rng_state()))


def set_random_state(packed: bytes) -> None:
    state = pickle.loads(packed)
    random.setstate(state[0])
    np.random.set_state(state[1])
    torch.set_rng_state(state[2])


def _missing_file(data: Any) -> str:
    """Return the message of a FileNotFoundError that a fetch raised; "" for anything else."""
    kind = getattr(data, "exc_type", None)
    if isinstance(kind, type) and issubclass(kind, FileNotFoundError):
        return str(data.exc_msg).strip().rpartition("\n")[2]
    return ""
