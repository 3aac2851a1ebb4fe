"""The ring of shared memory that batches are in, and the loans of its slots.

A slot is on loan from the moment its batch is handed out until its memory is out of use: the last
array or tensor over it is gone, and the GPU's copies from it are done.
"""

from __future__ import annotations

import collections
import functools
import mmap
import os
import weakref
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from .._verbs import StokerError

# NumPy has no bfloat16: its bits are uint16.
DTYPES = {"uint8": np.uint8, "float16": np.float16, "bfloat16": np.uint16, "float32": np.float32}
_INT64 = np.dtype(np.int64)


class Ring:
    """The mapping of a ring, cut into slots by the daemon's layout."""

    def __init__(self, descriptor: int, layout: dict[str, Any]) -> None:
        self.slots: int = layout["slots"]
        images, labels, indices = (layout[name] for name in ("images", "labels", "indices"))
        self._image = tuple(images["shape"][1:])
        self._dtype = np.dtype(DTYPES[images["dtype"]])
        self._images, self._strides = images["offset"], tuple(images["strides"])
        self._labels, self._indices = labels["offset"], indices["offset"]
        size, slot = layout["bytes"], layout["slot_bytes"]
        if self.slots * slot > size or size > os.fstat(descriptor).st_size:
            raise StokerError(
                f"a ring of {size} bytes cannot hold {self.slots} slots of {slot}: client and binary are of "
                f"different versions"
            )
        # The mapping is never closed explicitly: it ends with the last array over it. Finalizers
        # are attached to this array, as those of an mmap run only after it has gone.
        self.memory = np.frombuffer(mmap.mmap(descriptor, size), np.uint8)
        # Memoryviews: with arrays, NumPy would make each array below refer to the whole ring.
        self._cut = [memoryview(self.memory)[first : first + slot] for first in range(0, self.slots * slot, slot)]

    def slot(self, number: int) -> np.ndarray:
        """Return the bytes of a slot, as a new array: its end is the end of the loan."""
        return np.frombuffer(self._cut[number], np.uint8)

    def fields(self, slot: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return images and labels of the first count samples of a slot, without a copy."""
        images = np.ndarray((count, *self._image), self._dtype, slot, self._images, self._strides)
        return images, np.ndarray((count,), _INT64, slot, self._labels)

    def indices(self, number: int, count: int) -> bytearray:
        """Return a copy of the samples' numbers, as int64: it may be needed after the slot is gone."""
        return bytearray(self._cut[number][self._indices : self._indices + 8 * count])


class Fence(Protocol):
    """An event of a device."""

    def query(self) -> bool:
        """Whether it has happened."""


class Loans:
    """The slots that the consumer holds.

    release(slot) gives one back. fence() is called when the last reference to a slot is gone: it
    returns an event whose query() says whether copies from the slot are done, or None if there are
    none. Any thread may drop a tensor at any moment, so there are no locks here and nothing blocks.
    """

    def __init__(self, release: Callable[[int], None], fence: Callable[[], Fence | None]) -> None:
        self._release = release
        self._fence = fence
        self._ours = weakref.ref(self)
        self._held: dict[int, weakref.ref[np.ndarray]] = {}
        self._fenced: collections.deque[tuple[int, Fence]] = collections.deque()

    def count_held(self) -> int:
        """Return the number of slots that are referenced."""
        return len(self._held)

    def is_waiting(self) -> bool:
        """Whether slots wait only for a device."""
        return bool(self._fenced)

    def lend(self, number: int, memory: np.ndarray) -> None:
        """Watch the memory of a slot that is handed out."""
        self._held[number] = weakref.ref(memory, functools.partial(_give_back_dropped, self._ours, number))

    def give_back(self, number: int, fence: Fence | None = None) -> None:
        """Take a slot back, now or once an event has happened."""
        self._held.pop(number, None)  # this ends the watch
        fence = fence or self._fence()
        if fence is None:
            self._release(number)
        else:
            self._fenced.append((number, fence))

    def poll(self) -> None:
        """Release the slots that devices have read. Devices finish roughly in order."""
        while self._fenced:
            number, fence = self._fenced[0]
            if not fence.query():
                return
            self._fenced.popleft()
            self._release(number)


def _give_back_dropped(loans: weakref.ref[Loans], number: int, memory: weakref.ref[np.ndarray]) -> None:
    found = loans()
    if found is not None:
        found.give_back(number)
