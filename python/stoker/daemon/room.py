"""Memory that the daemon writes batches to and the trainer reads them from, used again once nobody has it any more.

New pages are cleared when they are first written and freed with the batch: a tenth of a fed epoch's processor time.
So a process keeps the rooms of its last fetches. Whether one is free the kernel says: what is handed out is the room
opened anew, with a shared lock (flock) on that opening. Such a lock goes when the last descriptor and the last
mapping that come from the opening have gone, in whatever process they are; so a batch that somebody keeps, and be it
as a view or in a forked child, is never written again.
"""

from __future__ import annotations

import errno
import fcntl
import os
import weakref

from .._limits import count_free_descriptors

_MOST = 128  # rooms [J]: each is a descriptor, and torch wants 1024 for what it sends as well
_REACH = 6  # fetches: torch's workers are two batches ahead; a trainer or a thread of its own may hold some more


def memory(size: int) -> int:
    """A memfd of so many bytes."""
    descriptor = os.memfd_create("stoker-batch", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, size)
    return descriptor


class Room:
    """Memory that other processes can be given. It cannot shrink, so that the daemon may keep it mapped."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.descriptor = memory(size)
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        self.fetch = 0  # that it was lent in
        weakref.finalize(self, os.close, self.descriptor)

    def lend(self) -> int | None:
        """The room opened anew; None: somebody has it. Close it once it is mapped."""
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)
        loan = os.open(f"/proc/self/fd/{self.descriptor}", os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(loan, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BaseException:
            os.close(loan)
            raise
        return loan


class Rooms:
    """The rooms of a process."""

    def __init__(self) -> None:
        self._rooms: list[Room] = []  # what was lent last comes last
        self._fetch = 0

    def turn(self) -> None:
        """A fetch has ended. What has not been free for long, or not been wanted, is not waited for any more."""
        self._fetch += 1
        self._rooms = [room for room in self._rooms if self._fetch - room.fetch <= _REACH]

    def lend(self, size: int) -> tuple[Room, int]:
        """A room with at least so many bytes, and a descriptor to map it by."""
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

    def forget(self) -> None:
        """Use none of them again: somebody may still write there."""
        self._rooms.clear()


#: This process's, for batches. A forked child has others: its parent's locks are shared.
rooms = Rooms()
os.register_at_fork(after_in_child=rooms.forget)
