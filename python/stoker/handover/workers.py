"""Starts workers that hand their batches over."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import re
import socket
import sys
import uuid
import weakref
from collections.abc import Callable, Iterator
from multiprocessing import reduction
from typing import TYPE_CHECKING, Any

import torch

from .._limits import find_lack
from ..daemon.sockets import Socket, pair
from . import receiving, sending
from .memory import Memory, find_memory, set_memory
from .stacking import stack_early

if TYPE_CHECKING:
    from types import ModuleType


@contextlib.contextmanager
def handing_over(home: ModuleType, name: str, count: int, messages: receiving.MessageCounts | None) -> Iterator[list[Any]]:
    """Make workers that are started within this context hand batches over; home.name is their loop.

    The caller appends the iterator that receives the batches to the list that is yielded. messages
    has the counts of the data set's earlier iterators. If these had nothing to hand over, or if it is
    None, this iterator goes PyTorch's way.
    """
    able = messages is not None and sending.able and not messages.is_fruitless() and not find_lack(count)
    pairs = _pairs(count) if able else []
    if messages is None or not pairs:
        yield []
        return
    key, before = uuid.uuid4().hex, getattr(home, name)
    takers: list[Any] = []
    theirs = [their for _, their in pairs]
    resting = receiving.take_resting()
    inherited = [resting[worker::count] for worker in range(count)]
    receiving.expect(key, [ours for ours, _ in pairs], messages, inherited)
    setattr(home, name, _Loop(before, (home.__name__, name), theirs, key, inherited))
    del resting, inherited  # a worker that is forked does not keep them open
    try:
        yield takers
    finally:
        setattr(home, name, before)
        for their in theirs:
            their.close()
        if takers:
            weakref.finalize(takers[0], receiving.forget, key).atexit = False  # a thread may still read at exit
        else:  # no iterator was constructed
            receiving.forget(key)


def _pairs(count: int) -> list[tuple[socket.socket, socket.socket]]:
    pairs: list[tuple[socket.socket, socket.socket]] = []
    try:
        for _ in range(count):
            pairs.append(pair())
    except OSError:  # no descriptor is left
        for ends in pairs:
            for end in ends:
                end.close()
        return []
    return pairs


class _Loop:
    """Replaces a worker's loop: runs it with a queue that hands over."""

    def __init__(
        self, loop: Callable[..., None], home: tuple[str, str], ends: list[socket.socket], key: str, inherited: list[list[receiving.Mapped]]
    ) -> None:
        self._loop, self._home, self._ends, self._key, self._inherited = loop, home, ends, key, inherited
        self.__wrapped__ = loop  # inspect reads the signature from it

    def __reduce__(self) -> Any:  # for a worker that is not forked, which inherits no rooms
        ends = [reduction.DupFd(end.fileno()) for end in self._ends]
        # while workers start, its name refers to this object
        loop = None if inspect.isfunction(self._loop) else self._loop
        return _make_loop, (loop, self._home, ends, self._key)

    def __call__(self, *args: Any) -> None:
        leave_to_trainer()
        given = inspect.signature(self._loop).bind(*args)
        number, queue = given.arguments.get("worker_id"), given.arguments.get("data_queue")
        for other, end in enumerate(self._ends):
            if other != number:
                end.close()
        if number is not None and queue is not None:
            memory = Memory([os.dup(room.descriptor) for room in self._inherited[number]] if self._inherited else [])
            self._inherited = []
            set_memory(memory)
            _allocate_in_rooms()
            stack_early(memory, given.arguments.get("collate_fn"))
            torch._utils.ExceptionWrapper.__init__ = wrap_exception(torch._utils.ExceptionWrapper.__init__)  # type: ignore[method-assign]
            given.arguments["data_queue"] = sending.Queue(queue, self._ends[number], self._key, number, memory, self._home[0].startswith("torchdata"))
        self._loop(*given.args, **given.kwargs)


def leave_to_trainer() -> None:
    """Have a worker's collections of garbage leave the trainer's iterators alone.

    One that raised is in a cycle with its traceback. PyTorch would end its workers, which are no
    children of this process, and print an AssertionError: at a moment that our own objects shift.
    """
    for module, name in _ITERATORS:
        kind = getattr(sys.modules.get(module), name, None)
        if kind is not None and not hasattr(kind.__del__, "__wrapped__"):
            kind.__del__ = _wrap_del(kind.__del__)


_ITERATORS = (
    ("torch.utils.data.dataloader", "_MultiProcessingDataLoaderIter"),
    ("torchdata.stateful_dataloader.stateful_dataloader", "_StatefulMultiProcessingDataLoaderIter"),
)


def _wrap_del(original: Callable[[Any], None]) -> Any:
    @functools.wraps(original)
    def __del__(self: Any) -> None:
        if all(getattr(worker, "_parent_pid", os.getpid()) == os.getpid() for worker in vars(self).get("_workers", ())):
            original(self)

    return __del__


#: Matches our frames in a traceback, but not the last frame: an error in our code keeps its line.
_FRAME = re.compile(rf'^([ |]*)File "(?:<stoker>|{re.escape(os.path.dirname(os.path.dirname(__file__)))})/.*\n(?:\1  .*\n)*(?=\1File ")', re.MULTILINE)


def wrap_exception(original: Callable[..., None]) -> Any:
    """Have a worker's errors arrive with the traceback that they have without our frames."""

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        self.exc_msg = _FRAME.sub("", self.exc_msg)

    return __init__


def _allocate_in_rooms() -> None:
    """Make storages that a collate function shares directly in the batch's room."""
    make_shared = torch.UntypedStorage._new_shared

    def _new_shared(cls: Any, size: int, *, device: str | torch.device = "cpu") -> Any:
        memory = find_memory() if torch.device(device).type == "cpu" else None
        storage = memory.allocate(size) if memory is not None else None
        return make_shared(size, device=device) if storage is None else storage

    torch.UntypedStorage._new_shared = classmethod(_new_shared)


def _make_loop(loop: Callable[..., None] | None, home: tuple[str, str], ends: list[Any], key: str) -> _Loop:
    if loop is None:
        __import__(home[0])
        loop = getattr(sys.modules[home[0]], home[1])
    return _Loop(loop, home, [Socket(fileno=end.detach()) for end in ends], key, [])
