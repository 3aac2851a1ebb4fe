"""The ring of shared memory that batches lie in, and who holds which slot.

A slot is on loan from the moment its batch is handed out until nobody can see
its memory any more: the last array or tensor over it is gone, and what a GPU
was still copying from it is done.
"""

from __future__ import annotations

import collections
import mmap
import os
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ._verbs import StokerError

# NumPy has no bfloat16: its bits come as uint16.
DTYPES = {"uint8": np.uint8, "float16": np.float16, "bfloat16": np.uint16, "float32": np.float32, "int64": np.int64}


class Ring:
    """The mapping of a ring, cut into slots as the daemon's layout says."""

    def __init__(self, descriptor: int, layout: dict[str, Any]) -> None:
        self.slots: int = layout["slots"]
        self._slot_bytes: int = layout["slot_bytes"]
        self._fields = [layout[name] for name in ("images", "labels", "indices")]
        self._batch: int = layout["images"]["shape"][0]
        size = layout["bytes"]
        if self.slots * self._slot_bytes > size or size > os.fstat(descriptor).st_size:
            raise StokerError(f"a ring of {size} bytes cannot hold {self.slots} slots of {self._slot_bytes}: client and binary are of different versions")
        # Nothing ever closes the mapping: it goes with the last array over it, whoever holds that.
        # What hangs on its life hangs on this array, for mmap tells its watchers only when it is gone.
        self.memory = np.frombuffer(mmap.mmap(descriptor, size), np.uint8)

    def slot(self, number: int) -> np.ndarray:
        """The bytes of a slot: an array of its own, so that its end is the end of this loan."""
        first = number * self._slot_bytes
        # Through a memoryview, or NumPy would make the arrays below hang on the ring as a whole.
        return np.frombuffer(memoryview(self.memory)[first : first + self._slot_bytes], np.uint8)

    def fields(self, slot: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Images, labels and indices of the first count samples of a slot; no copy."""
        images, labels, indices = self._fields
        pixels = np.ndarray(images["shape"], DTYPES[images["dtype"]], slot, images["offset"], images["strides"])
        numbers = (np.ndarray((self._batch,), np.int64, slot, field["offset"]) for field in (labels, indices))
        return (pixels[:count], *(array[:count] for array in numbers))


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
        self._held: dict[int, weakref.finalize] = {}
        self._fenced: collections.deque[tuple[int, Any]] = collections.deque()

    def held(self) -> int:
        """How many slots are seen by somebody."""
        return len(self._held)

    def waiting(self) -> bool:
        """Whether slots are only waiting for a device."""
        return bool(self._fenced)

    def lend(self, number: int, memory: np.ndarray) -> None:
        """Watch the memory of a slot that is handed out."""
        ours = weakref.ref(self)

        def dropped() -> None:
            loans = ours()
            if loans is not None:
                loans.give_back(number)

        self._held[number] = weakref.finalize(memory, dropped)
        self._held[number].atexit = False

    def give_back(self, number: int, fence: Any = None) -> None:
        """Take a slot back, from now on or from an event on."""
        watch = self._held.pop(number, None)
        if watch is not None:
            watch.detach()
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
