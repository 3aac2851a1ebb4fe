"""A batch's memory, held while tensors or arrays over it exist."""

from __future__ import annotations

import array
import contextlib
import ctypes
import functools
import mmap
import os
import weakref
from collections.abc import Callable
from typing import Any

import torch

#: The leased buffers, by the address of the reference: it, first address, size and descriptor. The
#: lock on a descriptor keeps the room from being overwritten.
_leases: dict[int, tuple[weakref.ref[Any], int, int, int]] = {}
#: The same of memory outside of rooms, and whether forked children share it.
_private: dict[int, tuple[weakref.ref[Any], int, int, bool]] = {}
_MOST = 1024  # mappings outside of rooms [J]: a process may have 65,530 of all kinds


def lease(mapping: mmap.mmap, descriptor: int) -> ctypes.Array[ctypes.c_ubyte]:
    """Return a buffer over a mapping, and close the descriptor when the last user of the buffer is
    gone.

    torch and NumPy keep this object. Of a memoryview, NumPy would keep only the object below it.
    """
    buffer = (ctypes.c_ubyte * len(mapping)).from_buffer(mapping)
    reference = weakref.ref(buffer, _end)
    _leases[id(reference)] = reference, ctypes.addressof(buffer), len(mapping), descriptor
    return buffer


def _end(reference: weakref.ref[Any]) -> None:
    os.close(_leases.pop(id(reference))[-1])


def count_leases() -> int:
    """Return how many rooms of this process have tensors or arrays over them."""
    return len(_leases)


def map_private(memory: Any) -> Any:
    """Return other memory of the same bytes, to which each process writes alone; None if memory is not a room.

    Arrays need it: PyTorch alone sends them through a pipe, so a forked child has its own.
    """
    first = ctypes.addressof(memory)
    for _, begin, size, descriptor in [*_leases.values()]:
        if begin <= first < begin + size:
            mapping = mmap.mmap(descriptor, size, mmap.MAP_PRIVATE)
            own = (ctypes.c_ubyte * len(memory)).from_buffer(mapping, first - begin)
            own.room = memory  # is lent as long
            return own
    return None


def make_shared(size: int) -> Any:
    """Return memory outside of rooms, which forked children share as they share what PyTorch brings."""
    if len(_private) < _MOST:
        with contextlib.suppress(OSError):
            shared = (ctypes.c_ubyte * size).from_buffer(mmap.mmap(-1, size))
            return watch(shared, ctypes.addressof(shared), size, True)
    own = array.array("B", bytes(size))  # a bytearray takes no weak references
    return watch(own, *own.buffer_info())


def watch(memory: Any, first: int, size: int, shared: bool = False) -> Any:
    """Remember where memory of a batch outside of rooms lies, and return it."""
    reference = weakref.ref(memory, _end_private)
    _private[id(reference)] = reference, first, size, shared
    return memory


def _end_private(reference: weakref.ref[Any]) -> None:
    del _private[id(reference)]


def stand_for_shared() -> None:
    """Let a batch's storages be as those that PyTorch brings, which are shared with the worker.

    PyTorch moves a storage when a tensor is sent to another process or shared. It need not move what
    is shared already. A NumPy array over the tensor would then refer to memory of a later batch, as
    it keeps the tensor only. So a batch's memory is kept as long as its storage.
    """
    if not hasattr(torch.UntypedStorage.is_shared, "_stoker_keeps"):
        torch.UntypedStorage.is_shared = _is_shared  # type: ignore[method-assign]
    for name in ("_share_fd_cpu_", "_share_filename_cpu_"):
        original = getattr(torch.UntypedStorage, name)
        if not hasattr(original, "_stoker_keeps"):
            setattr(torch.UntypedStorage, name, _keeping(original))


def _is_shared(self: Any) -> bool:
    """Return whether a storage is in shared memory. What a batch has elsewhere is moved there."""
    if is_shared_by_torch(self):
        return True
    memory = _find(self.data_ptr()) if self.device.type == "cpu" else None
    if memory is not None and any(reference() is memory and not shared for reference, _, _, shared in _private.values()):
        self.share_memory_()
    return memory is not None


_is_shared._stoker_keeps = True  # type: ignore[attr-defined]
is_shared_by_torch = torch._C.StorageBase.is_shared  # type: ignore[attr-defined]


def _keeping(original: Callable[..., Any]) -> Any:
    @functools.wraps(original)
    def share(self: Any, *args: Any, **kwargs: Any) -> Any:
        memory = _find(self.data_ptr())
        shared = original(self, *args, **kwargs)
        if memory is not None:
            weakref.finalize(self, _let_go, memory).atexit = False
        return shared

    share._stoker_keeps = True  # type: ignore[attr-defined]
    return share


def _let_go(memory: object) -> None:
    """End a storage: its former memory has been kept until now."""


def _find(address: int) -> Any:
    """Return the memory of a batch that contains an address; None if no batch's does."""
    for reference, first, size, *_ in [*_leases.values(), *_private.values()]:
        if first <= address < first + size:
            return reference()
    return None
