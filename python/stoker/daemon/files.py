"""Memory that a fetch reads files into and the daemon reads them from, used again by the next fetch.

Files in memory of their own cost a worker a sixth of its processor time: new pages are cleared and freed again with
the batch, and the bytes are copied once more to where the daemon sees them.
"""

from __future__ import annotations

import io
import mmap
import os
import stat
import weakref
from typing import Any

from .room import memory

SIZE = 64 << 20  # what is touched of it is kept; what does not fit has memory of its own


class Files:
    """The files of one fetch at a time."""

    def __init__(self) -> None:
        self.descriptor = memory(SIZE)
        weakref.finalize(self, os.close, self.descriptor)
        self.size = SIZE
        self._memory = mmap.mmap(self.descriptor, SIZE)
        self._sources: list[weakref.ref[Any]] = []
        self.end = 0  # nothing is kept from here on

    def read(self, file: Any, size: int) -> Any:
        """So many bytes of a file, here where Python's own files can."""
        if type(file) not in (io.BufferedReader, io.BytesIO) or size > self.size - self.end:
            return file.read(size)
        place = memoryview(self._memory)[self.end : self.end + size]
        return place[: file.readinto(place)]

    def fill(self, descriptor: int) -> memoryview | None:
        """All of a plain file, here where there is room; None where it is left to Python's own files."""
        found = os.fstat(descriptor)
        size = found.st_size
        if not stat.S_ISREG(found.st_mode) or not 0 < size <= self.size - self.end:
            return None
        place = memoryview(self._memory)[self.end : self.end + size]
        return place if os.readv(descriptor, [place]) == size else None

    def copy(self, data: memoryview) -> Any:
        """Bytes that somebody has, here where there is room."""
        if len(data) > self.size - self.end:
            return bytes(data)
        place = memoryview(self._memory)[self.end : self.end + len(data)]
        place[:] = data
        return place

    def keep(self, source: Any) -> None:
        """A source of what was read last, until the fetch ends."""
        if type(source.data) is memoryview:
            source.files, source.at = self, self.end
            self.end += len(source.data)
            self._sources.append(weakref.ref(source))

    def part(self) -> None:
        """Have all sources that somebody still has own their bytes."""
        for source in filter(None, (seen() for seen in self._sources)):
            source.data, source.files, source.begun = bytes(source.data), None, []
        self._sources.clear()


_spare: list[Files] = []


def take() -> Files:
    """Memory that nobody has."""
    try:
        return _spare.pop()
    except IndexError:
        return Files()


def give(files: Files) -> None:
    """Take it back; nobody may be reading in it."""
    files.part()
    files.end = 0
    _spare.append(files)


os.register_at_fork(after_in_child=_spare.clear)  # it is the parent's
