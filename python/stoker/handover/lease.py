"""A room's memory for as long as somebody has tensors or arrays over it."""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from typing import Any

#: The buffers that are leased, by the address of the reference, and each one's descriptor. The lock on it keeps the room
#: from being written again.
_leases: dict[int, tuple[weakref.ref[Any], int]] = {}


def lease(mapping: mmap.mmap, descriptor: int) -> ctypes.Array[ctypes.c_ubyte]:
    """Return a buffer over a mapping, and close the descriptor when the last user of the buffer has gone.

    torch and NumPy keep this object. Of a memoryview NumPy keeps only what lies below it.
    """
    buffer = (ctypes.c_ubyte * len(mapping)).from_buffer(mapping)
    reference = weakref.ref(buffer, _end)
    _leases[id(reference)] = reference, descriptor
    return buffer


def _end(reference: weakref.ref[Any]) -> None:
    os.close(_leases.pop(id(reference))[1])


def count_leases() -> int:
    """Return how many rooms this process has tensors or arrays over."""
    return len(_leases)
