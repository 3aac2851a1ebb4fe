"""Shared memory that a fetch reads files into, and that the daemon reads from. The next fetch
reuses it.

With new memory for each file, a worker spends a sixth of its processor time on it: pages are
cleared, freed with the batch, and their bytes copied to where the daemon sees them.
"""

from __future__ import annotations

import io
import mmap
import os
import stat
import weakref
from typing import Any, BinaryIO, Protocol

from .room import memory

SIZE = 64 << 20  # bytes; a file that does not fit gets its own memory


class Source(Protocol):
    """A file's bytes; recipes/pictures.py has it."""

    data: bytes | memoryview
    files: Files | None
    at: int
    prefixes: list[Any]


class Files:
    """The files of one fetch at a time."""

    def __init__(self) -> None:
        self.descriptor = memory(SIZE)
        weakref.finalize(self, os.close, self.descriptor)
        self.size = SIZE
        self._memory = mmap.mmap(self.descriptor, SIZE)
        self._sources: list[weakref.ref[Source]] = []
        self.end = 0  # memory from here on is free

    def read(self, file: BinaryIO, size: int) -> Any:
        """Read bytes of a file: into the memory if it is one of Python's own files and they fit."""
        if type(file) not in (io.BufferedReader, io.BytesIO) or size > self.size - self.end:
            return file.read(size)
        place = memoryview(self._memory)[self.end : self.end + size]
        return place[: file.readinto(place)]

    def fill(self, descriptor: int) -> memoryview | None:
        """Read a whole regular file into the memory; None if it does not fit or is not regular."""
        found = os.fstat(descriptor)
        size = found.st_size
        if not stat.S_ISREG(found.st_mode) or not 0 < size <= self.size - self.end:
            return None
        place = memoryview(self._memory)[self.end : self.end + size]
        return place if os.readv(descriptor, [place]) == size else None

    def copy(self, data: memoryview) -> Any:
        """Copy bytes into the memory if they fit."""
        if len(data) > self.size - self.end:
            return bytes(data)
        place = memoryview(self._memory)[self.end : self.end + len(data)]
        place[:] = data
        return place

    def keep(self, source: Source) -> None:
        """Keep the bytes read last as a source's data, until the fetch ends."""
        if type(source.data) is memoryview:
            source.files, source.at = self, self.end
            self.end += len(source.data)
            self._sources.append(weakref.ref(source))

    def part(self) -> None:
        """Copy the bytes of living sources out of the memory."""
        for source in filter(None, (seen() for seen in self._sources)):
            source.data, source.files, source.prefixes = bytes(source.data), None, []
        self._sources.clear()


_spare: list[Files] = []


def take() -> Files:
    """Return memory that no fetch uses."""
    try:
        return _spare.pop()
    except IndexError:
        return Files()


def give(files: Files) -> None:
    """Return memory after a fetch. No thread may still read from it."""
    files.part()
    files.end = 0
    _spare.append(files)


os.register_at_fork(after_in_child=_spare.clear)  # the parent uses it
