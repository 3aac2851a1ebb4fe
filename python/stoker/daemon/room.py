"""Memory that the daemon writes batches to and the trainer reads, reused once it is out of use.

New pages are cleared at the first write and freed with the batch, which takes a tenth of an epoch's
processor time. So a process keeps the rooms of its last fetches. The kernel tells whether one is
free: a room is lent by opening it again and locking that opening alone (flock). The lock ends with
the last descriptor and the last mapping of the opening, in any process. So a batch that is kept,
even as a view or in a forked child, is never overwritten.
"""

from __future__ import annotations

import errno
import fcntl
import os
import weakref

from .._limits import count_free_descriptors

_MOST = 128  # rooms [J]: each is a descriptor, and torch needs descriptors too, of 1024
_REACH = 6  # fetches: torch's workers are two batches ahead; a trainer or its threads may hold a few more


def memory(size: int) -> int:
    """Return a memfd of this size."""
    descriptor = os.memfd_create("stoker-batch", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, size)
    return descriptor


class Room:
    """Memory that is shared with other processes. It cannot shrink, so that the daemon may keep it
    mapped."""

    def __init__(self, size: int, descriptor: int | None = None) -> None:
        self.size = size
        self.descriptor = memory(size) if descriptor is None else descriptor
        if descriptor is None:
            fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        self.fetch = 0  # the fetch that it was lent in
        weakref.finalize(self, os.close, self.descriptor)

    def lend(self) -> int | None:
        """Open the room again and return the descriptor, to be closed once mapped. None: it is in
        use."""
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)
        loan = os.open(f"/proc/self/fd/{self.descriptor}", os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(loan, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException as error:
            os.close(loan)
            if isinstance(error, BlockingIOError):  # a worker of an earlier iteration was faster
                return None
            raise
        return loan


class Rooms:
    """The rooms of a process."""

    def __init__(self) -> None:
        self._rooms: list[Room] = []  # the room lent last is the last one
        self._fetch = 0

    def turn(self) -> None:
        """End a fetch: rooms that were not lent for some fetches are closed once out of use."""
        self._fetch += 1
        self._rooms = [room for room in self._rooms if self._fetch - room.fetch <= _REACH]

    def lend(self, size: int) -> tuple[Room, int]:
        """Lend a room of at least this size. Returns it and a descriptor to map it by."""
        for room in self._rooms:
            if size <= room.size <= 2 * size and (loan := room.lend()) is not None:
                self._rooms.remove(room)
                break
        else:
            if len(self._rooms) >= min(_MOST, count_free_descriptors() // 4):
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            room = Room(size)
            loan = room.lend()
            assert loan is not None
        self._rooms.append(room)
        room.fetch = self._fetch
        return room, loan

    def add(self, room: Room) -> None:
        """Reuse a room that another process made."""
        self._rooms.append(room)

    def forget(self) -> None:
        """Reuse none of these rooms: somebody may still write to them."""
        self._rooms.clear()


#: The rooms of this process for batches. A forked child gets others, as it shares its parent's
#: locks.
rooms = Rooms()
os.register_at_fork(after_in_child=rooms.forget)
