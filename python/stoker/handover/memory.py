"""The memory of batches in a worker."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import threading
from typing import Any

import torch

from .lease import lease
from .lending import Lender

ALIGN = 64  # bytes, as in PyTorch's allocator
LEAST = 16 << 10  # bytes [J]: less is sent in the message, where copying costs less than a room


_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1  # of mallopt(3)
#: Bytes: the largest values that the C library gives both by itself, once a block of 32 MB is freed.
_IN_HEAP, _KEPT = 32 << 20, 64 << 20
_KEPT_MOST = 256 << 20  # bytes [J]: of large batches, whose rooms take several times as much


def keep_freed_memory(size: int = 0) -> None:
    """Let this process keep the memory of its last batch's samples, of this size, for the next one.

    The C library gives the end of its heap back once some hundreds of kB are free there. Each batch
    then faults in, and the kernel clears, the pages of all its samples.
    """
    if any(name.startswith("MALLOC_") for name in os.environ) or "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", ""):
        return  # the user has chosen
    with contextlib.suppress(AttributeError, OSError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_THRESHOLD, _IN_HEAP)
        mallopt(_TRIM_THRESHOLD, max(_KEPT, min(2 * size, _KEPT_MOST)))


class Piece:
    """A room that is lent to the batch, and how much of it is used."""

    def __init__(self, number: int, mapping: mmap.mmap, loan: int) -> None:
        self.number, self.size, self.loan, self.used = number, len(mapping), loan, 0
        self.buffer = lease(mapping, loan)  # tensors over it keep it, and with it the room
        self.first = ctypes.addressof(self.buffer)


class Memory:
    """The rooms of a worker's batches; one batch is built at a time."""

    def __init__(self, inherited: list[int]) -> None:
        """Begin with the rooms of these descriptors, which the last iteration used; their numbers
        are -1, -2 and so on."""
        self._lender = Lender(inherited)
        keep_freed_memory()
        self._guard = threading.Lock()  # a collate function may have threads
        self._expected = 0  # bytes of a batch
        self._largest = 0  # bytes of a batch so far
        self.pieces: list[Piece] = []

    def take(self, size: int) -> tuple[Piece, int]:
        """Reserve bytes. Returns piece and offset; raises OSError if no room can be had."""
        with self._guard:
            if not self.pieces or self.pieces[-1].used + size > self.pieces[-1].size:
                taken = sum(piece.used for piece in self.pieces)
                wanted = max(size, self._expected - taken)
                self.pieces.append(Piece(*self._lender.lend(wanted)))
            piece = self.pieces[-1]
            at, piece.used = piece.used, piece.used + -(-size // ALIGN) * ALIGN
            return piece, at

    def list_rooms(self) -> list[int]:
        """Return the numbers of the rooms that may be reused."""
        return self._lender.list_rooms()

    def expect(self, size: int) -> None:
        """Expect that the batch takes this many more bytes."""
        with self._guard:
            self._expected = max(self._expected, sum(piece.used for piece in self.pieces) + size)

    def allocate(self, size: int) -> Any:
        """Return a storage in the batch's memory; None if no room can be had."""
        if size < LEAST:
            return torch.UntypedStorage(size)
        try:
            piece, at = self.take(size)
        except OSError:
            return None
        return torch.frombuffer(piece.buffer, dtype=torch.uint8, count=size, offset=at).untyped_storage()

    def find(self, address: int) -> tuple[int, int] | None:
        """Return (number of the piece, offset) of an address; None if no piece of the batch
        contains it."""
        for number, piece in enumerate(self.pieces):
            if piece.first <= address < piece.first + piece.used:
                return number, address - piece.first
        return None

    def turn(self) -> None:
        """End the batch after it was sent: the next one gets other rooms."""
        taken = sum(piece.used for piece in self.pieces)
        self._expected = max(taken, self._expected - self._expected // 8)
        if taken > self._largest:
            self._largest = taken
            keep_freed_memory(taken)
        self.pieces = []
        self._lender.turn()


_of_worker: Memory | None = None


def find_memory() -> Memory | None:
    """Return the memory of the batch that this process builds; None if it is no worker that hands over."""
    return _of_worker


def set_memory(memory: Memory | None) -> None:
    global _of_worker
    _of_worker = memory


#: A worker's forked child would write where the worker does.
os.register_at_fork(after_in_child=lambda: set_memory(None))
