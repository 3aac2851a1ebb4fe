"""Stands for the module multiprocessing in an iterator whose workers run in a Ray cluster."""

from __future__ import annotations

import atexit
import collections
import dataclasses
import inspect
import os
import queue
import sys
import threading
import time
from concurrent.futures import Future
from typing import Any

import numpy as np
import torch
from torch._utils import ExceptionWrapper

from .._warning import say, say_once
from . import beside, calls, figures, modules, packing
from .actor import COMPARED, Unfit
from .cluster import Lack
from .depth import MOST_MORE
from .packing import cloudpickle

_REPLACED = 3  # times that a worker is replaced without a result between
#: Variables of which a node has its own.
_NODES_OWN = ("PATH", "LD_", "HOME", "HOST", "PWD", "TMP", "TEMP", "XDG_", "CUDA_VISIBLE", "RAY_", "PYTHONPATH", "STOKER_")
_TURN = 0.5  # seconds after which the receiving thread checks whether its iterator has ended


class Context:
    """The module multiprocessing, as far as an iterator uses it."""

    def __init__(self, loader: Any, address: str) -> None:
        try:
            self.shared = beside.Shared((loader.dataset, loader.collate_fn, loader.worker_init_fn, modules.collect()))
        except Exception as error:
            raise Lack(f"the data set cannot be sent ({type(error).__name__}: {error})") from None
        self.loader_functions = {"collate_fn": loader.collate_fn, "init_fn": loader.worker_init_fn}
        self.map_style = loader._dataset_kind == 0
        self.address = address
        self.ahead = loader.prefetch_factor or 1
        self.most_ahead = self.ahead + MOST_MORE
        self.actors, self.store = beside.start_actors(loader.num_workers, address, self.most_ahead)
        beside.say_what_is_missing(self.actors, packing.find_paths(loader.dataset))
        self._send_shared()
        self.persistent = loader.persistent_workers
        self.results = _Results()
        self.arrivals: queue.SimpleQueue[Arrival] = queue.SimpleQueue()
        self.done = threading.Event()
        self.workers: list[_Worker] = []
        self._made = False

    def _send_shared(self) -> None:
        try:
            self.actors[0].handle.driver.share(self.shared)
        except calls.Failed as error:
            raise Lack(f"the data set cannot be sent ({error})") from None
        if self.shared.size > COMPARED:  # it may change unseen, and no worker is replaced
            self.shared.drop()

    def Queue(self) -> Any:
        if not self._made:  # the first is the results'
            self._made = True
            return self.results
        return _Questions()

    def Event(self) -> threading.Event:
        return self.done

    def Process(self, target: Any, args: tuple[Any, ...]) -> _Worker:
        worker = _Worker(self, target, args, self.actors[len(self.workers)])
        self.workers.append(worker)
        return worker

    def begin_receiving(self) -> None:
        """Start the receiving thread once the last worker has started."""
        if len(self.workers) == len(self.actors):
            self._thread = threading.Thread(target=_receive, args=(self,), daemon=True, name="stoker-ray")
            self._thread.start()
            atexit.register(self.stop)

    def set_ahead(self, ahead: int) -> None:
        """Note how many batches each worker may have begun from now on."""
        self.ahead = ahead
        for worker in self.workers:
            figures.find_node(worker.node).ahead = ahead

    def find_room(self, size: int, share: float) -> int:
        """Return for how many batches of each worker, of so many bytes, this share of the object stores has room."""
        beside = collections.Counter(worker.node for worker in self.workers)
        stores = [(self.store, len(self.workers)), *((worker.store, beside[worker.node]) for worker in self.workers)]
        return min(int(share * (store or 0) / (max(size, 1) * count)) for store, count in stores)

    def roll_back(self, own: int) -> None:
        """Let workers go on as if they had been asked for so many batches of this epoch, and for no more."""
        for worker in self.workers:
            worker.roll_back(own)

    def replace(self, lost: _Worker, reason: str) -> None:
        """Replace a worker, and all others of a driver that has ended, by such that continue with their batches."""
        if self.done.is_set():  # the iterator ends
            lost.end()
            return
        many = [each for each in self.workers if each.is_alive() and each.actor.has_ended()] if lost.actor.has_ended() else [lost]
        many = [each for each in many if each.may_be_replaced(reason)]
        if not many:
            return
        for each in many:
            each.actor.kill()
        for each, actor in zip(many, beside.start_others(len(many), self.address, self.most_ahead, self.done.is_set)):
            each.go_on(actor, reason)

    def bring_here(self, lost: _Worker, why: str) -> None:
        """Let a worker that could not begin on its node begin on this machine, where the program has its modules."""
        if self.done.is_set():
            lost.end()
        elif lost.node == beside.HERE or not self.shared.is_kept():
            say(f"a worker cannot begin ({why}): torch reports it")
            lost.end()
        else:
            say_once(f"node {lost.node} cannot load the data set ({why}): its workers run on this machine")
            lost.actor.kill()
            lost.go_on(beside.start_here(self.most_ahead), "")

    def stop(self) -> None:
        """Stop at the program's end."""
        self.done.set()
        for worker in self.workers:
            worker.end()
        self._thread.join(4 * _TURN)


#: A call that has ended: its worker, the actor that it went to, what became of it, and when.
Arrival = tuple[Any, Any, "Future[Any]", float]


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


@dataclasses.dataclass
class _Times:
    """What a worker's batches took, in seconds and bytes."""

    count: int = 0
    fetch: float = 0.0
    least_way: float = float("inf")  # the network's own, without a queue before it
    largest: int = 0

    def add(self, fetch: float, way: float, size: int) -> None:
        self.count, self.fetch = self.count + 1, self.fetch + fetch
        self.least_way, self.largest = min(self.least_way, way), max(self.largest, size)


class _Worker:
    """A worker as the iterator knows it: a process."""

    daemon, exitcode = True, None

    def __init__(self, context: Context, target: Any, args: tuple[Any, ...], actor: beside.Actor) -> None:
        self._context = context
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
        self._next = 0  # number of the next reply
        self._questions: dict[int, Any] = {}  # from that one on
        self._asked: dict[int, float] = {}  # when
        self._early: dict[int, Any] = {}  # replies that came before it
        self._drawn: collections.deque[tuple[int, int]] = collections.deque(maxlen=MOST_MORE + 2)  # batches and their questions
        self._states: collections.deque[tuple[int, bytes]] = collections.deque(maxlen=1)  # the random numbers after questions
        self._back: int | None = None  # the question after which the next epoch's random numbers go on
        self._resumes: dict[int, int | bytes] = {}  # a question, and the one or the state after which it comes
        self._held: list[int] = []  # questions that wait for that one's reply
        self.changes: bool | None = False  # whether fetches change the data set
        self.times = _Times()
        self._replaced = 0
        self._fresh = False  # whether the actor took another one's place, and has no question yet
        self._ends = self._dead = False
        self._take_actor(actor)

    def _take_actor(self, actor: beside.Actor) -> None:
        self.actor, self.node, self.store = actor.handle, actor.node, actor.store
        node = figures.find_node(self.node)
        node.workers, node.ahead, node.store = node.workers + 1, self._context.ahead, actor.store

    def _leave_node(self) -> None:
        figures.find_node(self.node).workers -= 1

    @property
    def pid(self) -> int:
        """This process. PyTorch watches child processes by their numbers, and no child has this one."""
        return os.getpid()

    def start(self) -> None:
        self._begin(0)
        self._context.begin_receiving()

    def _begin(self, first: int) -> None:
        actor, arrivals = self.actor, self._context.arrivals

        def tell(ended: Future[Any]) -> None:
            if ended.exception() is not None:
                arrivals.put((self, actor, ended, time.monotonic()))

        actor.begin(self._context.shared, self._own, first).add_done_callback(tell)

    def ask(self, question: Any) -> None:
        """Send a question, or the word to end."""
        with self._guard:
            if self._dead or self._ends:
                return
            if question is None:
                self._ends = True
                self.actor.call("end", self._count)
                return
            number, self._count = self._count, self._count + 1
            self._questions[number] = cloudpickle.dumps(question)
            if isinstance(question, tuple):
                self._drawn.append((question[0], number))
            else:  # another epoch begins
                self._drawn.clear()
                self._resumes = {} if self._back is None else {number: dict(self._states).get(self._back, self._back)}
                self._back = None
            self._send_in_turn(number)

    def roll_back(self, own: int) -> None:
        """Let the next epoch's random numbers go on after the last of the first `own` batches of this one."""
        with self._guard:
            due = [number for batch, number in self._drawn if batch < own]
            self._back = due[-1] if due and len(due) < len(self._drawn) else None

    def _send_in_turn(self, number: int) -> None:
        if self._held or isinstance(self._resumes.get(number), int):
            self._held.append(number)
        else:
            self._send(number, self._resumes.get(number))

    def _send(self, number: int, state: Any = None) -> None:
        if self._fresh and state is None and self._states:
            state = self._states[-1][1]
        self._fresh = False
        self._asked[number] = time.monotonic()
        actor, arrivals = self.actor, self._context.arrivals
        future = actor.call("fetch", number, self._questions[number], state)
        future.add_done_callback(lambda ended: arrivals.put((self, actor, ended, time.monotonic())))

    def receive(self, actor: Any, ended: Future[Any], now: float) -> list[Any]:
        """Take what became of a call. Returns the replies with batches that can be delivered now, in order."""
        if actor is not self.actor or self._dead:
            return []
        error = ended.exception()
        reply = None if error else ended.result()
        if reply is None and self._ends:
            self._dead = True
        elif reply is None:
            reason = "its loop ended" if error is None else getattr(error, "kind", type(error).__name__)
            if Unfit.__name__ in reason:
                self._context.bring_here(self, str(error).strip().splitlines()[-1].rpartition(f"{Unfit.__name__}: ")[2])
            else:
                self._context.replace(self, reason)
        else:
            return self._accept(reply, now)
        return []

    def _accept(self, reply: Any, now: float) -> list[Any]:
        """Keep a reply until all before it have come."""
        with self._guard:
            self._note(reply, now - self._asked.pop(reply[0]))
            self._early[reply[0]] = reply
            delivered = []
            while self._next in self._early:
                reply = self._early.pop(self._next)
                self._questions.pop(self._next)
                self._next, self._replaced = self._next + 1, 0
                if len(reply) > 1:
                    self._keep_state(reply[0], reply[4])
                    self.changes = reply[6]
                    delivered.append(reply)
            return delivered

    def _keep_state(self, number: int, state: bytes) -> None:
        if self._context.persistent and self._context.ahead + 1 > (self._states.maxlen or 0):
            self._states = collections.deque(self._states, self._context.ahead + 1)
        self._states.append((number, state))
        for resumed, after in self._resumes.items():
            if after == number:
                self._resumes = {resumed: state}
                held, self._held = self._held, []
                for each in held:
                    self._send_in_turn(each)
                return

    def _note(self, reply: Any, took: float) -> None:
        if len(reply) == 1:
            return
        fetch, cpu, spilled, inside = reply[7]
        size = len(reply[2]) + reply[3].nbytes
        if isinstance(reply[1], int):  # a batch
            self.times.add(fetch, took - inside, size)
        node = figures.find_node(self.node)
        node.batches += 1
        node.fetch += fetch
        node.cpu += cpu
        node.moved += took - inside
        node.bytes += size
        node.spilled = spilled

    def may_be_replaced(self, reason: str) -> bool:
        """Whether another one can continue with the batches; torch reports it dead if not."""
        kept = self._context.map_style and self.changes is False and self._context.shared.is_kept()
        if kept and self._replaced < _REPLACED:
            return True
        say(f"{self._say_death(reason)}, and its data set may have a state of its own: torch reports it")
        self._dead = True
        return False

    def _say_death(self, reason: str) -> str:
        return f"a worker on {self.node} died ({reason})"

    def go_on(self, actor: beside.Actor, reason: str) -> None:
        """Continue with another actor. reason: of the death, "" if it never began."""
        if reason:
            say(f"{self._say_death(reason)}: one on {actor.node} goes on with the same batches")
        with self._guard:
            self._leave_node()
            self._take_actor(actor)
            self._fresh = True
            self._replaced += 1
            self._early.clear()
            self._begin(self._next)
            held, self._held = self._held, []
            for number in range(self._next, self._count):
                if number in held:
                    self._held.append(number)
                else:
                    self._send(number, self._resumes.get(number))
            if self._ends:
                self.actor.call("end", self._count)

    def end(self) -> None:
        self._dead = True

    def is_alive(self) -> bool:
        return not self._dead

    def join(self, timeout: float | None = None) -> None:
        self.terminate()

    def terminate(self) -> None:
        if not self._dead:
            self._leave_node()
        self._dead = True
        self.actor.kill()


def _read_process() -> dict[str, Any]:
    """Return what a worker process inherits from the trainer besides its arguments."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_NODES_OWN)}
    return {"argv": sys.argv, "folder": os.getcwd(), "environment": kept, "dtype": torch.get_default_dtype(), "thread": _read_thread()}


def _read_thread() -> dict[str, Any]:
    """Return what the thread that makes an iterator leaves to its workers."""
    context = sys.modules["decimal"].getcontext() if "decimal" in sys.modules else None
    return {"numpy": np.geterr(), "decimal": context, "grad": torch.is_grad_enabled(), "depth": sys.getrecursionlimit()}


def _receive(context: Context) -> None:
    """Put what the workers send on the iterator's queue: one thread for all of them."""
    try:
        _pass_replies_on(context)
    except Exception as error:  # torch then says that its workers exited, instead of waiting for ever
        say(f"batches of the cluster cannot be taken ({type(error).__name__}: {error}): has it the same version of stoker?")
        for worker in context.workers:
            worker.end()
    atexit.unregister(context.stop)


def _pass_replies_on(context: Context) -> None:
    said = False
    while not context.done.is_set():
        try:
            worker, actor, ended, now = context.arrivals.get(timeout=_TURN)
        except queue.Empty:
            continue
        for reply in worker.receive(actor, ended, now):
            if reply[5] and not said:
                said = True
                say(f"node {worker.node}: {reply[5]}")
            context.results.put(_unpack(*reply[1:4]))
            del reply  # and with it the batch, whose room is kept as long
        del ended


def _unpack(index: Any, head: bytes, blob: Any) -> Any:
    try:
        return packing.unpack(head, blob)
    except Exception:
        return index, ExceptionWrapper(where="in the thread that receives batches of a Ray cluster")
