"""The daemon's share of the work on pixels. It is counted per picture and said in one line at exit.

A picture counts with its number of pixels, in the worst category that it falls into. All workers of
a process add to one shared page after each fetch, under a lock that the kernel releases if its
holder dies.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import mmap
import os
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

from ..._warning import say

if TYPE_CHECKING:
    from PIL.Image import Image


class Source(Protocol):
    """The counts of a file; pictures.py defines them."""

    size: tuple[int, int]
    counted_as: int


WHOLE, PART, PILLOW = range(3)  # computed by the daemon: whole batches, single pictures; computed by Pillow
_REASON = 512  # bytes of a reason
SLOTS = 64  # accounts of data sets, with WORDS numbers each
WORDS = 9
_SLOTS_AT = 2048  # after the reasons
_SIZE = _SLOTS_AT + 8 * WORDS * SLOTS
_TRIES = 8  # attempts to take the lock, which is held only for a copy

# Shared with workers: pictures of each kind, pixels of each kind, then a reason for each kind.
_page: memoryview | None = None
_file = -1
_guard = threading.Lock()  # between the threads of this process
_owner = 0
_found = [0] * 6  # counted by this process, not yet on the page
_reasons = [b""] * 3
_fetching = 0
lasts: list[Callable[[], str]] = []  # further lines to say at exit


def begin() -> None:
    """Begin counting in this process and its workers, and say the result at exit."""
    global _owner
    if _page is None:
        use_page(os.memfd_create("stoker-share", os.MFD_CLOEXEC))
        _owner = os.getpid()
        atexit.register(_say_share)


def file() -> int:
    """Return the page's descriptor, for a worker that is not forked; -1 if nothing is counted."""
    return _file


def use_page(descriptor: int) -> None:
    """Count on the page with this descriptor."""
    global _page, _file
    os.ftruncate(descriptor, _SIZE)
    _page, _file = memoryview(mmap.mmap(descriptor, _SIZE)), descriptor


@contextlib.contextmanager
def counting() -> Iterator[None]:
    """Count the pictures of a fetch that runs in this context."""
    global _fetching
    with _guard:
        _fetching += 1
    try:
        yield
    finally:
        with _guard:
            _fetching -= 1
        _flush()


def count_file(source: Source, kind: int) -> None:
    """Count what became of a deferred file."""
    if kind > source.counted_as:
        if source.counted_as >= 0:
            _add(source.counted_as, -1, source.size)
        _add(kind, 1, source.size)
        source.counted_as = kind


def count_files(sources: list[Source], kind: int) -> None:
    """Count what became of several deferred files."""
    count = pixels = 0
    for source in sources:
        if source.counted_as >= 0:
            count_file(source, kind)
        else:
            source.counted_as = kind
            count, pixels = count + 1, pixels + source.size[0] * source.size[1]
    with _guard:
        _found[kind] += count
        _found[3 + kind] += pixels


def count_load(image: Image, where: Callable[[], str] | None) -> None:
    """Count a file that Pillow decodes; while others are deferred, keep where that happens."""
    if _fetching:
        _add(PILLOW, 1, image.size)
        if where and not _reasons[PILLOW]:
            keep_reason(PILLOW, f"such as {image.mode} {image.format} at {where()}")


def keep_reason(kind: int, reason: str) -> None:
    """Keep a reason, if it is the first of its kind."""
    plain = "".join(each if each.isprintable() else "?" for each in reason)
    _reasons[kind] = _reasons[kind] or plain.encode(errors="replace")[:_REASON]


def _reset_after_fork() -> None:
    """Forget the parent's counts in a forked child, and replace the lock: a thread may have held
    it."""
    global _fetching, _guard
    _fetching, _found[:], _guard = 0, [0] * 6, threading.Lock()


os.register_at_fork(after_in_child=_reset_after_fork)


def _add(kind: int, count: int, size: tuple[int, int]) -> None:
    with _guard:
        _found[kind] += count
        _found[3 + kind] += count * size[0] * size[1]


def _flush() -> None:
    """Add the counts to the page. If another process holds the lock, the next call adds them."""
    if _page is None or not any(_found):
        return
    with _guard, _locking() as mine:
        if not mine:
            return
        numbers = _page[:48].cast("q")
        for i, found in enumerate(_found):
            numbers[i] += found
            _found[i] = 0
        for kind, reason in enumerate(_reasons):
            at = 48 + kind * _REASON
            if reason and not _page[at]:
                _page[at : at + len(reason)] = reason


@contextlib.contextmanager
def _locking() -> Iterator[bool]:
    """Lock the page within this context. Yields False if another process holds it: it may be
    stopped."""
    for _ in range(_TRIES):
        try:
            fcntl.lockf(_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except OSError:
            os.sched_yield()
    else:
        yield False
        return
    try:
        yield True
    finally:
        fcntl.lockf(_file, fcntl.LOCK_UN)


def find_slot(number: int) -> memoryview | None:
    """Return an account's numbers on the page, or None if there is no page."""
    at = _SLOTS_AT + 8 * WORDS * number
    return None if _page is None else _page[at : at + 8 * WORDS].cast("q")


def add_to_slot(numbers: memoryview, found: list[int]) -> list[int] | None:
    """Add to an account's numbers, and return them as they were before. None: the page was locked."""
    with _guard, _locking() as mine:
        if not mine:
            return None
        before = list(numbers)
        for i, more in enumerate(found):
            numbers[i] += more
        return before


def _say_share() -> None:
    """Say the line, on the first rank."""
    if _owner != os.getpid() or _page is None or (os.environ.get("RANK") or "0") != "0":
        return
    _flush()
    for line in (*(last() for last in lasts), describe(*read_counts())):
        if line:
            say(line)


def read_counts() -> tuple[list[int], list[str]]:
    """Return pictures and pixels of each kind, and a reason for each kind."""
    assert _page is not None
    return list(_page[:48].cast("q")), [
        bytes(_page[48 + kind * _REASON :][:_REASON]).rstrip(b"\0").decode(errors="replace") for kind in range(3)
    ]


def describe(found: list[int], reasons: list[str]) -> str:
    """Describe the counts in a sentence; "" if there were no pictures."""
    pictures, pixels = found[:3], found[3:]
    if not sum(pixels) or min(pictures) < 0:
        return ""
    least, most = (100 * part // sum(pixels) for part in (pixels[WHOLE], pixels[WHOLE] + pixels[PART]))
    percent = f"{least} %" if least == most else f"{least} to {most} %"
    parts = [f"{pictures[WHOLE]:,} of {sum(pictures):,} pictures whole"]
    for kind, by in ((PART, "in part"), (PILLOW, "by Pillow")):
        if pictures[kind]:
            parts.append(f"{pictures[kind]:,} {by}" + (f" ({reasons[kind]})" if reasons[kind] else ""))
    return f"{percent} of the pixels' work was done by Go: {', '.join(parts)}"
