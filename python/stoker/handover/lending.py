"""Rooms that are lent to batches, with numbers by which the other side knows them."""

from __future__ import annotations

import mmap
import os
import struct
import weakref
from collections.abc import Iterable

from ..daemon.room import Room, Rooms

POPULATE = mmap.MAP_SHARED | mmap.MAP_POPULATE
HEAD = struct.Struct("<Q")  # a packet with descriptors: the number that its message has as well
PIECE = 64 << 10  # bytes: rooms are multiples of it


class Lender:
    """A process's rooms for batches that another one takes."""

    def __init__(self, inherited: Iterable[int] = ()) -> None:
        """Begin with the rooms of these descriptors; their numbers are -1, -2 and so on."""
        self._rooms = Rooms()
        self._numbers: weakref.WeakKeyDictionary[Room, int] = weakref.WeakKeyDictionary()
        self._maps: weakref.WeakKeyDictionary[Room, mmap.mmap] = weakref.WeakKeyDictionary()
        self._count = 0  # rooms so far
        for before, descriptor in enumerate(inherited):
            room = Room(os.fstat(descriptor).st_size, descriptor)
            self._rooms.add(room)
            self._numbers[room] = -1 - before

    def lend(self, size: int) -> tuple[int, mmap.mmap, int]:
        """Return the number of a room of at least this size, its memory and a descriptor that keeps it while it is open or mapped.

        Raises OSError if no room can be had.
        """
        room, loan = self._rooms.lend(-(-size // PIECE) * PIECE)
        if room not in self._numbers:
            self._count += 1
            self._numbers[room] = self._count
        if room not in self._maps:
            self._maps[room] = mmap.mmap(room.descriptor, room.size, POPULATE)
        return self._numbers[room], self._maps[room], loan

    def list_rooms(self) -> list[int]:
        """Return the numbers of the rooms that may be reused."""
        return [*self._numbers.values()]

    def turn(self) -> None:
        """Close rooms that were not lent for some turns, once they are out of use."""
        self._rooms.turn()
