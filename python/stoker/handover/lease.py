"""A room's memory, held while tensors or arrays over it exist."""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from typing import Any

#: The leased buffers and their descriptors, by the address of the reference. The lock on a
#: descriptor keeps the room from being overwritten.
_leases: dict[int, tuple[weakref.ref[Any], int]] = {}


def lease(mapping: mmap.mmap, descriptor: int) -> ctypes.Array[ctypes.c_ubyte]:
    """Return a buffer over a mapping, and close the descriptor when the last user of the buffer is
    gone.

    torch and NumPy keep this object. Of a memoryview, NumPy would keep only the object below it.
    """
    buffer = (ctypes.c_ubyte * len(mapping)).from_buffer(mapping)
    reference = weakref.ref(buffer, _end)
    _leases[id(reference)] = reference, descriptor
    return buffer


def _end(reference: weakref.ref[Any]) -> None:
    os.close(_leases.pop(id(reference))[1])


def count_leases() -> int:
    """Return how many rooms of this process have tensors or arrays over them."""
    return len(_leases)
