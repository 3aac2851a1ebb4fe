"""Stands for the module multiprocessing in an iterator whose workers run in a Ray cluster."""

from __future__ import annotations

import atexit
import contextlib
import inspect
import os
import queue
import sys
import threading
from typing import Any

import ray
import torch
from ray import cloudpickle
from torch._utils import ExceptionWrapper

from .._warning import say
from . import cluster, packing

_TAKES = 2  # results that are asked for at a time, of each worker
_REPLACED = 3  # times that a worker is replaced without a result between
#: Variables of which a node has its own.
_NODES_OWN = ("PATH", "LD_", "HOME", "HOST", "PWD", "TMP", "TEMP", "XDG_", "CUDA_VISIBLE", "RAY_", "PYTHONPATH", "STOKER_")
_TURN = 0.5  # seconds after which the receiving thread looks whether its iterator has ended


class Context:
    """The module multiprocessing, as far as an iterator uses it."""

    def __init__(self, loader: Any, address: str) -> None:
        try:
            shared = cloudpickle.dumps((loader.dataset, loader.collate_fn, loader.worker_init_fn))
        except Exception as error:
            raise cluster.Lack(f"the data set cannot be sent ({type(error).__name__}: {error})") from None
        self.loader_functions = {"collate_fn": loader.collate_fn, "init_fn": loader.worker_init_fn}
        self.map_style = loader._dataset_kind == 0
        self.address = address
        self.actors = cluster.start_actors(loader.num_workers, address)
        self.shared = ray.put(shared)
        self.results = _Results()
        self.done = threading.Event()
        self.workers: list[_Worker] = []
        self._made = False

    def Queue(self) -> Any:
        if not self._made:  # the first is the results'
            self._made = True
            return self.results
        return _Questions()

    def Event(self) -> threading.Event:
        return self.done

    def Process(self, target: Any, args: tuple[Any, ...]) -> _Worker:
        worker = _Worker(self, target, args, *self.actors[len(self.workers)])
        self.workers.append(worker)
        return worker

    def begin_receiving(self) -> None:
        """Start the receiving thread once the last worker has started."""
        if len(self.workers) == len(self.actors):
            self._thread = threading.Thread(target=_receive, args=(self,), daemon=True, name="stoker-ray")
            self._thread.start()
            atexit.register(self.stop)

    def stop(self) -> None:
        """Stop at the program's end, before Ray does: a call after that would start another Ray."""
        self.done.set()
        for worker in self.workers:
            worker.end()
        self._thread.join(4 * _TURN)


class _NoThread:
    """What torch calls on a queue between processes because of its thread: these queues have none."""

    def cancel_join_thread(self) -> None:
        pass

    def close(self) -> None:
        pass


class _Results(queue.Queue, _NoThread):
    """The iterator's data queue, within this process."""


class _Questions(_NoThread):
    """A worker's index queue. It sends a question at once."""

    worker: _Worker | None = None

    def put(self, question: Any) -> None:
        assert self.worker is not None
        self.worker.ask(question)


class _Worker:
    """A worker as the iterator knows it: a process."""

    daemon, exitcode = True, None

    def __init__(self, context: Context, target: Any, args: tuple[Any, ...], actor: Any, node: str) -> None:
        self._context, self._actor, self.node = context, actor, node
        given = inspect.signature(target).bind(*args).arguments
        given["index_queue"].worker = self
        for name in ("dataset_holder", "index_queue", "data_queue", "done_event"):
            del given[name]
        for name, function in context.loader_functions.items():
            if given.get(name) is function:  # it is sent together with the data set, of which it may be a method
                del given[name]
        self._own = cloudpickle.dumps(((target.__module__, target.__name__), dict(given), _read_process()))
        self._guard = threading.Lock()
        self._count = 0  # questions so far
        self._next = 0  # number of the next result; of a map-style data set that is its question's
        self._questions: dict[int, Any] = {}  # from that one on
        self._early: dict[int, Any] = {}  # results that came before it
        self._random: Any = None  # state of the random number generators there
        self._changes: bool | None = False  # whether fetches change the data set
        self._replaced = 0
        self._dead = False

    @property
    def pid(self) -> int:
        """This process. PyTorch watches child processes by their numbers, and no child has this one."""
        return os.getpid()

    def start(self) -> None:
        self._begin(0, None)
        self._context.begin_receiving()

    def _begin(self, first: int, state: Any) -> None:
        self._actor.call.remote("begin", self._context.shared, self._own, first, state)

    def ask(self, question: Any) -> None:
        with self._guard:
            if self._dead:
                return
            number, self._count = self._count, self._count + 1
            self._questions[number] = question
            self._actor.call.remote("ask", number, question)

    def take(self) -> Any:
        return self._actor.call.remote("take")

    def accept(self, result: Any) -> list[Any]:
        """Take a result, and return those that can be delivered now, in order. A result may arrive early."""
        with self._guard:
            self._early[result[0]] = result
            delivered = []
            while self._next in self._early:
                result = self._early.pop(self._next)
                self._questions.pop(self._next, None)
                self._random, self._changes, self._replaced = result[4], result[6], 0
                self._next += 1
                delivered.append(result)
            return delivered

    def replace(self, error: Exception) -> bool:
        """Replace an actor that died by another one, which continues with its batches. Returns whether it could."""
        if self._context.done.is_set() or not ray.is_initialized():  # the iterator or the program ends
            self._dead = True
            return False
        why = f"a worker on {self.node} died ({type(error).__name__})"
        if not self._context.map_style or self._changes is not False or self._replaced >= _REPLACED:
            say(f"{why}, and its data set may have a state of its own: torch reports it")
            self._dead = True
            return False
        self._kill()
        try:
            [(actor, node)] = cluster.start_actors(1, self._context.address)
        except cluster.Lack as lack:
            say(f"{why}, and no other takes its place: {lack}")
            self._dead = True
            return False
        say(f"{why}: one on {node} goes on with the same batches")
        with self._guard:
            self._actor, self.node, self._replaced = actor, node, self._replaced + 1
            self._early.clear()
            self._begin(self._next, self._random)
            for number in range(self._next, self._count):
                self._actor.call.remote("ask", number, self._questions[number])
        return True

    def end(self) -> None:
        self._dead = True

    def is_alive(self) -> bool:
        return not self._dead

    def join(self, timeout: float | None = None) -> None:
        self.terminate()

    def terminate(self) -> None:
        self._dead = True
        self._kill()

    def _kill(self) -> None:
        if ray.is_initialized():
            with contextlib.suppress(Exception):
                ray.kill(self._actor)


def _read_process() -> dict[str, Any]:
    """Return what a worker process inherits from the trainer besides its arguments."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_NODES_OWN)}
    return {"argv": sys.argv, "folder": os.getcwd(), "environment": kept, "dtype": torch.get_default_dtype()}


def _receive(context: Context) -> None:
    """Put what the workers send on the iterator's queue: one thread for all of them."""
    takes = {worker.take(): worker for worker in context.workers for _ in range(_TAKES)}
    said = False
    while takes and not context.done.is_set() and ray.is_initialized():
        ready, _ = ray.wait(list(takes), timeout=_TURN)
        for reference in ready:
            worker = takes.pop(reference)
            try:
                result = ray.get(reference)
            except ray.exceptions.RayError as error:
                takes = {other: whose for other, whose in takes.items() if whose is not worker}
                if worker.replace(error):
                    takes.update({worker.take(): worker for _ in range(_TAKES)})
                continue
            if result is None:
                worker.end()
                continue
            takes[worker.take()] = worker
            for _, index, head, blob, _, missing, _ in worker.accept(result):
                if missing and not said:
                    said = True
                    say(f"node {worker.node}: {missing}")
                context.results.put(_unpack(index, head, blob))
    atexit.unregister(context.stop)


def _unpack(index: Any, head: bytes, blob: Any) -> Any:
    try:
        return packing.unpack(head, blob)
    except Exception:
        return index, ExceptionWrapper(where="in the thread that receives batches of a Ray cluster")
