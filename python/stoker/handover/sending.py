"""The worker's side: a queue that hands batches over."""

from __future__ import annotations

import array
import ctypes
import io
import socket
import sys
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

import torch

from . import receiving
from .lease import is_shared_by_torch
from .memory import ALIGN, LEAST, Memory

if TYPE_CHECKING:
    import multiprocessing.queues

    import numpy as np

# messages without a tensor or array [J]; after the first number, one in the second number is tried
_FRUITLESS, _AGAIN = 8, 64
_ALL_SMALL = 64 << 10  # bytes [J]: a smaller batch needs no room


class Queue:
    """Replaces the queue that a worker puts its batches on."""

    def __init__(
        self,
        queue: multiprocessing.queues.Queue[Any],
        end: socket.socket,
        key: str,
        worker: int,
        memory: Memory,
        stateful: bool,
    ) -> None:
        self._queue, self._end, self._key, self._worker, self._memory = queue, end, key, worker, memory
        self._stateful = stateful
        self._number = self._put = self._fruitless = 0

    def put(self, what: object) -> None:
        """Send a message. PyTorch sends what cannot be handed over, and raises its own errors."""
        self._put += 1
        try:
            message = self._pack(what) if self._fruitless < _FRUITLESS or self._put % _AGAIN == 0 else what
        except (BrokenPipeError, ConnectionResetError):
            return  # no process receives it: a full pipe would keep this worker from ending
        except Exception:
            message = what
        finally:
            self._memory.turn()
        self._queue.put(message)

    def _pack(self, what: object) -> Any:
        packer = Packer()
        body = packer.pack(what)
        self._fruitless = 0 if packer.has_found() else self._fruitless + 1
        places, small = packer.place(self._memory, id(self._batch_of(what)))
        used = [piece for piece in self._memory.pieces if piece.used]
        if len(used) > receiving.PIECES:
            return what
        if used:
            self._number += 1
            rights = array.array("i", [piece.loan for piece in used])
            self._end.sendmsg(
                [receiving.HEAD.pack(self._number)],
                [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)],
                socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL,
            )
        rooms = [(piece.number, piece.size, piece.used) for piece in used]
        return Message(self._key, self._worker, self._number, rooms, self._memory.list_rooms(), places, small, body)

    def _batch_of(self, what: object) -> Any:
        """Return the batch in a message, which the worker's loop refers to as well.

        PyTorch sends (index, batch), torchdata (index, (batch, worker, state)).
        """
        batch = what[1] if isinstance(what, tuple) and len(what) == 2 else None
        return batch[0] if self._stateful and isinstance(batch, tuple) and batch else batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)


class Message:
    """A batch to be sent. Unpickling it gives the batch."""

    def __init__(self, *parts: Any) -> None:
        self._parts = parts

    def __reduce__(self) -> Any:
        return receiving.open_message, self._parts


class _Pickler(ForkingPickler):
    """PyTorch's pickler, with storages and arrays replaced by references."""

    def __init__(self, out: io.BytesIO, found: Packer) -> None:
        super().__init__(out)  # its default protocol: with another, arrays would arrive differently
        self._found = found

    def reducer_override(self, thing: object) -> Any:
        return self._found.reduce(thing)


class Source:
    """A storage or an array of a batch."""

    def __init__(self, memory: torch.UntypedStorage | np.ndarray, span: tuple[int, int] | None) -> None:
        self.memory = memory
        self.users: list[int] = []  # numbers of the tensors over a storage
        self.span = span  # first byte that a tensor uses, and the end of the last; None: all


class Packer:
    """The storages and arrays of one batch."""

    def __init__(self) -> None:
        self._tensors: list[torch.Tensor] = []
        self.sources: list[Source] = []
        self._numbers: dict[int, int] = {}  # of sources, by the address of the storage's C++ object

    def pack(self, what: object, pickler: Callable[[io.BytesIO, Packer], Any] = _Pickler) -> bytes:
        """Pickle a batch, with references instead of its storages and arrays."""
        out = io.BytesIO()
        pickler(out, self).dump(what)
        return out.getvalue()

    def reduce(self, thing: object) -> Any:
        """Return the reference that a pickler writes for a thing; NotImplemented for things that it pickles itself."""
        if isinstance(thing, torch.Tensor):
            return self._reduce_tensor(thing)
        kind = type(thing)
        if kind is torch.UntypedStorage:
            return self._reduce_storage(thing)
        if kind.__name__ == "ndarray" and kind.__module__ == "numpy":
            return self._reduce_array(thing)
        return NotImplemented

    def has_found(self) -> bool:
        return bool(self.sources)

    def _reduce_tensor(self, tensor: torch.Tensor) -> Any:
        if tensor.device.type != "cpu" or tensor.layout is not torch.strided or tensor.is_nested:
            return NotImplemented
        if type(tensor) is not torch.Tensor and not _has_storage(tensor):
            return NotImplemented
        storage = tensor.untyped_storage()
        number = self._number_of(storage)
        source = self.sources[number]
        source.users.append(len(self._tensors))
        self._tensors.append(tensor)
        if not is_plain(tensor):
            source.span = None
            return NotImplemented  # PyTorch pickles it, and the storage is replaced
        source.span = _widen(source.span, tensor)
        size, stride = tuple(tensor.size()), tensor.stride()
        return receiving.tensor_of, (number, tensor.dtype, tensor.storage_offset(), size, stride, tensor.requires_grad)

    def _reduce_storage(self, storage: torch.UntypedStorage) -> Any:
        if storage.device.type != "cpu":
            return NotImplemented
        number = self._number_of(storage)
        self.sources[number].span = None
        return receiving.storage_of, (number,)

    def _reduce_array(self, found: np.ndarray) -> Any:
        contiguous = found.flags.c_contiguous or found.flags.f_contiguous
        if found.dtype.hasobject or not found.dtype.isnative or not contiguous or found.nbytes < LEAST or not found.flags.writeable:
            return NotImplemented
        self.sources.append(Source(found, None))
        return receiving.array_of, (len(self.sources) - 1, found.dtype, found.shape, _order_of(found))

    def _number_of(self, storage: torch.UntypedStorage) -> int:
        number = self._numbers.get(storage._cdata)
        if number is None:
            number = self._numbers[storage._cdata] = len(self.sources)
            self.sources.append(Source(storage, (storage.nbytes(), 0)))
        return number

    def place(self, memory: Memory, batch: int) -> tuple[list[Any], bytes]:
        """Copy storages that are not in the batch's rooms yet. Returns each location, and the bytes
        of small ones.

        batch is the id of the object that the worker's loop refers to as well.
        """
        places: list[Any] = [None] * len(self.sources)
        wanted = []
        for number, source in enumerate(self.sources):
            storage = source.memory
            if isinstance(storage, torch.UntypedStorage):
                if self._is_kept(source, batch) or is_shared_by_torch(storage):
                    places[number] = storage
                    continue
                at = memory.find(storage.data_ptr()) if storage.nbytes() >= LEAST else None
                if at is not None:
                    places[number] = (*at, storage.nbytes(), 0)
                    continue
            wanted.append(number)
        copied = {number: find_bytes(self.sources[number]) for number in wanted}
        total = sum(size for _, size, _ in copied.values())
        large = {number for number in wanted if total >= _ALL_SMALL and copied[number][1] >= LEAST}
        memory.expect(sum(copied[number][1] + ALIGN for number in large))
        blobs: list[bytes] = []
        used = 0
        for number, (address, size, left_out) in copied.items():
            if number in large:
                piece, at = memory.take(size)
                ctypes.memmove(piece.first + at, address, size)
                places[number] = (memory.pieces.index(piece), at, size, left_out)
                continue
            blobs += [ctypes.string_at(address, size), bytes(-size % ALIGN)]
            places[number] = (-1, used, size, left_out)
            used += -(-size // ALIGN) * ALIGN
        return places, b"".join(blobs)

    def _is_kept(self, source: Source, batch: int) -> bool:
        """Whether the worker refers to the storage, or to a tensor over it, outside of the batch."""
        users = source.users
        if len(users) == 1 and self._tensors[users[0]]._base is None:  # most are so; nothing else may refer to it
            alone = ALONE + 1 + (id(self._tensors[users[0]]) == batch)
            return count_references(self._tensors, users[0]) > alone or use_count(source.memory._cdata) > ALONE_USE
        viewed = {id(self._tensors[user]._base) for user in users}
        for user in users:
            tensor = id(self._tensors[user])
            if count_references(self._tensors, user) > ALONE + 1 + (tensor == batch) + _VIEWED * (tensor in viewed):
                return True
        own = {id(self._tensors[user]) for user in users}
        bases = {id(base): base for base in (self._tensors[user]._base for user in users) if base is not None and id(base) not in own}
        if any(count_references(bases, key) > ALONE_BASE for key in bases):
            return True
        return use_count(source.memory._cdata) > ALONE_USE + len(own) - 1 + len(bases)


def _widen(span: tuple[int, int] | None, tensor: torch.Tensor) -> tuple[int, int] | None:
    """Return a storage's span, extended by the bytes of one more tensor."""
    if span is None or tensor.numel() == 0:
        return span
    first, size = tensor.storage_offset(), tensor.element_size()
    if tensor.is_contiguous():
        last = first + tensor.numel()
    else:
        last = first + 1 + sum((length - 1) * step for length, step in zip(tensor.size(), tensor.stride()))
    return min(span[0], first * size), max(span[1], last * size)


def find_bytes(source: Source) -> tuple[int, int, int]:
    """Return address and number of the bytes to copy, and how many bytes before them are left out."""
    memory, span = source.memory, source.span
    if not isinstance(memory, torch.UntypedStorage):
        return memory.__array_interface__["data"][0], memory.nbytes, 0
    address, size = memory.data_ptr(), memory.nbytes()
    if span is None or span[1] - span[0] > size // 2:
        return address, size, 0
    if span[1] <= span[0]:
        return address, min(size, 1), 0  # a view without elements: its storage is not empty
    first = span[0] - span[0] % ALIGN
    return address + first, span[1] - first, first


def _order_of(found: np.ndarray) -> str:
    """Return the order in which an array's elements are stored."""
    return "C" if found.flags.c_contiguous else "F"


def count_references(held: list[Any] | dict[int, Any], key: int) -> int:
    return sys.getrefcount(held[key])


def _has_storage(tensor: torch.Tensor) -> bool:
    try:
        return tensor.untyped_storage() is not None
    except Exception:  # a subclass that wraps another tensor
        return False


def is_plain(tensor: torch.Tensor) -> bool:
    """Whether dtype, location, size, stride and requires_grad describe the tensor completely."""
    return (
        type(tensor) is torch.Tensor
        and not (tensor.requires_grad and not tensor.is_leaf)
        and not tensor._backward_hooks
        and not (tensor.is_quantized or tensor.is_conj() or tensor.is_neg() or tensor.is_inference())
    )


def _calibrate() -> tuple[int, int, int, int]:
    """Return the reference counts of a tensor, a view's base and a storage that only this function
    holds, and how many more a tensor has that is viewed."""
    held, view = [torch.zeros(2, device="cpu")], torch.zeros(2, device="cpu")[1:]
    base, storage = {0: view._base}, held[0].untyped_storage()
    counts = count_references(held, 0), count_references(base, 0), use_count(storage._cdata)
    view = held[0][1:]
    return *counts, count_references(held, 0) - counts[0]


use_count = getattr(torch._C, "_storage_Use_Count", None)
#: If PyTorch cannot count a storage's references, nothing is handed over.
able = use_count is not None
ALONE, ALONE_BASE, ALONE_USE, _VIEWED = _calibrate() if able else (0, 0, 0, 0)
