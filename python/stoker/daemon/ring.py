"""The ring of shared memory that batches lie in, and who holds which slot.

A slot is on loan from the moment its batch is handed out until nobody can see
its memory any more: the last array or tensor over it is gone, and what a GPU
was still copying from it is done.
"""

from __future__ import annotations

import collections
import functools
import mmap
import os
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from .._verbs import StokerError

# NumPy has no bfloat16: its bits come as uint16.
DTYPES = {"uint8": np.uint8, "float16": np.float16, "bfloat16": np.uint16, "float32": np.float32}
_INT64 = np.dtype(np.int64)


class Ring:
    """The mapping of a ring, cut into slots as the daemon's layout says."""

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
        # Nothing ever closes the mapping: it goes with the last array over it, whoever holds that.
        # What hangs on its life hangs on this array, for mmap tells its watchers only when it is gone.
        self.memory = np.frombuffer(mmap.mmap(descriptor, size), np.uint8)
        # Memoryviews, or NumPy would make the arrays below hang on the ring as a whole.
        self._cut = [memoryview(self.memory)[first : first + slot] for first in range(0, self.slots * slot, slot)]

    def slot(self, number: int) -> np.ndarray:
        """The bytes of a slot: an array of its own, so that its end is the end of this loan."""
        return np.frombuffer(self._cut[number], np.uint8)

    def fields(self, slot: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Images and labels of the first count samples of a slot; no copy."""
        images = np.ndarray((count, *self._image), self._dtype, slot, self._images, self._strides)
        return images, np.ndarray((count,), _INT64, slot, self._labels)

    def indices(self, number: int, count: int) -> bytearray:
        """Which samples these are, as int64. A copy, for it is asked for when the slot may be gone."""
        return bytearray(self._cut[number][self._indices : self._indices + 8 * count])


class Loans:
    """The slots that the consumer holds.

    release(slot) gives one back. fence() is called when nobody sees a slot any
    more: it returns an event whose query() says when copies that are under way
    are done, or None where there are none. Tensors may be dropped in any thread,
    in the middle of anything: so no locks here, and nothing that waits.
    """

    def __init__(self, release: Callable[[int], None], fence: Callable[[], Any]) -> None:
        self._release = release
        self._fence = fence
        self._ours = weakref.ref(self)
        self._held: dict[int, weakref.ref[np.ndarray]] = {}
        self._fenced: collections.deque[tuple[int, Any]] = collections.deque()

    def held(self) -> int:
        """How many slots are seen by somebody."""
        return len(self._held)

    def waiting(self) -> bool:
        """Whether slots are only waiting for a device."""
        return bool(self._fenced)

    def lend(self, number: int, memory: np.ndarray) -> None:
        """Watch the memory of a slot that is handed out."""
        self._held[number] = weakref.ref(memory, functools.partial(_dropped, self._ours, number))

    def give_back(self, number: int, fence: Any = None) -> None:
        """Take a slot back, from now on or from an event on."""
        self._held.pop(number, None)  # and with it the watch
        fence = fence or self._fence()
        if fence is None:
            self._release(number)
        else:
            self._fenced.append((number, fence))

    def poll(self) -> None:
        """Release what devices are done with. They are done in order, near enough."""
        while self._fenced:
            number, fence = self._fenced[0]
            if not fence.query():
                return
            self._fenced.popleft()
            self._release(number)


def _dropped(loans: weakref.ref[Loans], number: int, memory: weakref.ref[np.ndarray]) -> None:
    found = loans()
    if found is not None:
        found.give_back(number)
