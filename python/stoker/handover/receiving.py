"""The trainer's side: tensors and arrays over the memory of a worker's batch."""

from __future__ import annotations

import array
import contextlib
import errno
import itertools
import mmap
import os
import pickle
import resource
import socket
import threading
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from .lease import count_leases, lease, make_shared, map_private, stand_for_shared
from .lending import HEAD, POPULATE

if TYPE_CHECKING:
    import numpy as np

PIECES = 64  # of a batch, at most: descriptors in one packet

#: The sockets by which workers send descriptors: by the iterator's key, a list by worker.
_ends: dict[str, list[socket.socket]] = {}
_now = threading.local()
_messages: dict[str, MessageCounts] = {}  # of the iterators' data sets
#: Rooms of an iterator's workers that may be used again, by worker and number.
_maps: dict[str, dict[tuple[int, int], Mapped]] = {}
_resting: list[Mapped] = []  # rooms of the iterator that ended last
_REST = 512 << 20  # bytes [J]: of rooms that are kept between two iterations
#: With more rooms than these, the trainer keeps batches: a small part of a batch would keep its
#: whole room.
_SPARE = 8  # rooms [J]: beyond four for each worker, batches are copied out of their rooms
_FRUITLESS = 8  # messages without a tensor or array [J]; later epochs of the data set then go PyTorch's way
_PART = 4  # a room takes a descriptor; batches are also copied if rooms take this part of those allowed [J]


class Counts:
    """Counts of batches, of bytes in rooms, and of storages sent by PyTorch."""

    batches = bytes = left = 0


counts = Counts()


class MessageCounts:
    """Counts of one data set's messages, and of those with a tensor or an array."""

    def __init__(self) -> None:
        self.all = self.found = 0

    def is_fruitless(self) -> bool:
        """Whether its batches have nothing that could be handed over."""
        return self.all >= _FRUITLESS and not self.found


def say() -> str:
    """Describe the counts for the end of the program; "" if no batch came in a room."""
    if not counts.bytes:
        return ""
    left = f"; {counts.left:,} tensors came PyTorch's way" if counts.left else ""
    return f"{counts.batches:,} batches came from workers through memory that is used again ({_size(counts.bytes)}){left}"


def _size(count: int) -> str:
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"


class Mapped:
    """A room that the trainer maps, and a descriptor by which later workers get it."""

    def __init__(self, descriptor: int, size: int) -> None:
        """Map a room through a new descriptor. A mapping keeps a copy of its descriptor, and a copy
        of this one would keep the batch's lock."""
        self.descriptor = os.open(f"/proc/self/fd/{descriptor}", os.O_RDWR | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self.descriptor)
        self.size, self.mapping = size, mmap.mmap(self.descriptor, size, POPULATE)


def take_resting() -> list[Mapped]:
    """Return the rooms of the iterator that ended last, for the workers of the next one."""
    found = [*_resting]
    _resting.clear()
    return found


def expect(key: str, ends: list[socket.socket], messages: MessageCounts, inherited: list[list[Mapped]]) -> None:
    """Receive batches of an iterator from these sockets, and count them. Its workers begin with
    these rooms."""
    stand_for_shared()
    _ends[key], _messages[key] = ends, messages
    _maps[key] = {(worker, -1 - before): room for worker, rooms in enumerate(inherited) for before, room in enumerate(rooms)}


def forget(key: str) -> None:
    """Forget an iterator. Batches in its sockets are lost."""
    if rooms := _maps.pop(key, None):
        sizes = itertools.accumulate(room.size for room in rooms.values())
        _resting[:] = [room for room, size in zip(rooms.values(), sizes) if size <= _REST]
    _messages.pop(key, None)
    for end in _ends.pop(key, ()):
        end.close()


def _reset_after_fork() -> None:
    """Forget the parent's batches in a forked child."""
    for key in list(_ends):
        forget(key)
    _resting.clear()


os.register_at_fork(after_in_child=_reset_after_fork)


def open_message(
    key: str, worker: int, number: int, rooms: list[tuple[int, int, int]], kept: list[int], places: list[Any], small: bytes, body: bytes
) -> Any:
    """Unpickle a message.

    rooms has the number, size and used bytes of each of the batch's rooms; kept the numbers of all
    rooms that may be used again. places has the location of each storage and array, in the order of
    the body's references.
    """
    leases = _lease(key, worker, number, rooms, kept)
    if messages := _messages.get(key):
        messages.all += 1
        messages.found += bool(places)
    counts.batches += 1
    counts.bytes += sum(used for _, _, used in rooms)
    counts.left += sum(not isinstance(place, tuple) for place in places)
    copies = count_leases() > min(4 * len(_ends.get(key, ())) + _SPARE, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // _PART)
    with reading(Buffers(leases, places, small, copies)):
        return pickle.loads(body)


@contextlib.contextmanager
def reading(buffers: Buffers) -> Iterator[None]:
    """Let references that are unpickled within refer to these buffers."""
    before = getattr(_now, "buffers", None)
    _now.buffers = buffers
    try:
        yield
    finally:
        _now.buffers = before


def storage_of(number: int) -> Any:
    """Return a storage; called while unpickling."""
    return _now.buffers.find_storage(number)


def tensor_of(
    number: int,
    dtype: torch.dtype,
    offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool,
) -> torch.Tensor:
    """Return a tensor over a storage whose first bytes may have been left out; called while
    unpickling."""
    storage, left_out = _now.buffers.find_storage(number), _now.buffers.left_out(number)
    tensor = torch.empty(0, dtype=dtype, device="cpu").set_(storage, offset - left_out // dtype.itemsize, size, stride)
    return tensor.requires_grad_() if requires_grad else tensor


def array_of(number: int, dtype: np.dtype[Any], shape: tuple[int, ...], order: str) -> Any:
    """Return a NumPy array; called while unpickling."""
    return _now.buffers.make_array(number, dtype, shape, order)


class Buffers:
    """The memory of one message."""

    def __init__(self, leases: list[Any], places: list[Any], small: bytes, copies: bool) -> None:
        self._leases, self._places, self._small, self._copies = leases, places, small, copies
        self._shared: Any = None  # a copy of the small ones
        self._private: dict[int, Any] = {}  # memory of arrays, by the room
        self._storages: dict[int, Any] = {}  # so that two tensors over one storage share it

    def find_storage(self, number: int) -> Any:
        if number not in self._storages:
            place = self._places[number]
            if not isinstance(place, tuple):
                self._storages[number] = place  # PyTorch has sent it
            elif place[2] == 0:
                self._storages[number] = torch.UntypedStorage(0)
            else:
                memory, at, size = self._locate(place)
                self._storages[number] = torch.frombuffer(memory, dtype=torch.uint8, count=size, offset=at).untyped_storage()
        return self._storages[number]

    def left_out(self, number: int) -> int:
        place = self._places[number]
        return int(place[3]) if isinstance(place, tuple) else 0

    def make_array(self, number: int, dtype: np.dtype[Any], shape: tuple[int, ...], order: str) -> Any:
        import numpy as np

        piece, at, size, _ = self._places[number]
        if piece < 0 or self._copies:
            memory, at = bytearray(memoryview(self._small if piece < 0 else self._leases[piece]).cast("B")[at : at + size]), 0
        else:
            if piece not in self._private:
                self._private[piece] = map_private(self._leases[piece])
            memory = self._private[piece] or self._leases[piece]
        return np.frombuffer(memory, dtype=dtype, count=size // dtype.itemsize, offset=at).reshape(shape, order=order)

    def _locate(self, place: tuple[int, int, int, int]) -> Any:
        """Return a storage's memory, offset and size."""
        piece, at, size, _ = place
        if piece < 0:
            if self._shared is None:
                self._shared = make_shared(len(self._small))
                memoryview(self._shared).cast("B")[:] = self._small
            return self._shared, at, size
        if not self._copies:
            return self._leases[piece], at, size
        copy = make_shared(size)
        memoryview(copy).cast("B")[:] = memoryview(self._leases[piece]).cast("B")[at : at + size]
        return copy, 0, size


def _lease(key: str, worker: int, number: int, rooms: list[tuple[int, int, int]], kept: list[int]) -> list[Any]:
    """Return the memory of a message's rooms. Rooms that the worker has dropped are unmapped."""
    if not rooms:
        return []
    descriptors, maps, leases = _descriptors(key, worker, number, len(rooms)), _maps[key], []
    try:
        for room, size, _ in rooms:
            found = maps.get((worker, room))
            if found is None:
                found = maps[worker, room] = Mapped(descriptors[0], size)
            leases.append(lease(found.mapping, descriptors.pop(0)))
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    for gone in [place for place in maps if place[0] == worker and place[1] not in kept]:
        del maps[gone]
    return leases


def _descriptors(key: str, worker: int, number: int, count: int) -> list[int]:
    """Receive the descriptors of a message's rooms, which were sent before it."""
    end = _ends[key][worker]
    while True:
        head, rights, _, _ = end.recvmsg(HEAD.size, socket.CMSG_SPACE(4 * PIECES), socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC)
        found = array.array("i")
        for level, kind, data in rights:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                found.frombytes(data[: len(data) - len(data) % found.itemsize])
        if HEAD.unpack(head) == (number,) and len(found) == count:
            return list(found)
        for descriptor in found:  # of a message that was never opened
            os.close(descriptor)
        if HEAD.unpack(head) == (number,):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
