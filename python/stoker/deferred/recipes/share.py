"""What share of the pixels' work the daemon did: counted where pictures are made, said in one line when the program
ends.

A picture counts with the pixels of its file, by the worst that became of it. The workers of a process add to one page
of memory after each fetch, under a lock that ends with its holder.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import mmap
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

from ..._warning import say

WHOLE, PART, PILLOW = range(3)  # by the daemon up to the batch; by it one by one, and on in Python; by Pillow
_REASON = 512  # bytes of one
SLOTS = 64  # accounts of data sets, of WORDS numbers each
WORDS = 9
_SLOTS_AT = 2048  # behind the reasons
_SIZE = _SLOTS_AT + 8 * WORDS * SLOTS
_TRIES = 8  # for the lock, which nobody holds for longer than a copy takes

_page: memoryview | None = (
    None  # of the process that began, and of its workers: pictures, then pixels, of each kind; then a reason of each
)
_file = -1
_guard = threading.Lock()  # between the threads of this process
_owner = 0
_found = [0] * 6  # by this process, not yet on the page
_reasons = [b""] * 3
_fetching = 0
lasts: list[Callable[[], str]] = []  # what else is said at the end


def begin() -> None:
    """Count for this process and its workers, and say at its end what came of it."""
    global _owner
    if _page is None:
        share(os.memfd_create("stoker-share", os.MFD_CLOEXEC))
        _owner = os.getpid()
        atexit.register(_end)


def file() -> int:
    """Of the page, for a worker that is not forked; -1: nothing is counted."""
    return _file


def share(descriptor: int) -> None:
    """Count on this page."""
    global _page, _file
    os.ftruncate(descriptor, _SIZE)
    _page, _file = memoryview(mmap.mmap(descriptor, _SIZE)), descriptor


@contextlib.contextmanager
def counting() -> Iterator[None]:
    """A fetch, of which pictures are counted."""
    global _fetching
    with _guard:
        _fetching += 1
    try:
        yield
    finally:
        with _guard:
            _fetching -= 1
        _flush()


def went(source: Any, kind: int) -> None:
    """Count what becomes of a file that waited."""
    if kind > source.went:
        if source.went >= 0:
            _add(source.went, -1, source.size)
        _add(kind, 1, source.size)
        source.went = kind


def all_went(sources: list[Any], kind: int) -> None:
    """Count what becomes of several."""
    count = pixels = 0
    for source in sources:
        if source.went >= 0:
            went(source, kind)
        else:
            source.went = kind
            count, pixels = count + 1, pixels + source.size[0] * source.size[1]
    with _guard:
        _found[kind] += count
        _found[3 + kind] += pixels


def loaded(image: Any, where: Callable[[], str] | None) -> None:
    """Count a file that Pillow decodes by itself, and where others wait keep which and where."""
    if _fetching:
        _add(PILLOW, 1, image.size)
        if where and not _reasons[PILLOW]:
            because(PILLOW, f"such as {image.mode} {image.format} at {where()}")


def because(kind: int, reason: str) -> None:
    """Keep the first reason."""
    plain = "".join(each if each.isprintable() else "?" for each in reason)
    _reasons[kind] = _reasons[kind] or plain.encode(errors="replace")[:_REASON]


def _forked() -> None:
    """In a forked child: what was found is the parent's, and one of its threads may hold the guard."""
    global _fetching, _guard
    _fetching, _found[:], _guard = 0, [0] * 6, threading.Lock()


os.register_at_fork(after_in_child=_forked)


def _add(kind: int, count: int, size: tuple[int, int]) -> None:
    with _guard:
        _found[kind] += count
        _found[3 + kind] += count * size[0] * size[1]


def _flush() -> None:
    """Bring to the page what was found; next time, where another process is at it."""
    if _page is None or not any(_found):
        return
    with _guard, _locked() as mine:
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
def _locked() -> Iterator[bool]:
    """Whether the page is this process's for the time. A process that is stopped may hold it, so nobody waits long."""
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


def slot(number: int) -> memoryview | None:
    """The numbers of an account that all processes see; None where there is no page."""
    at = _SLOTS_AT + 8 * WORDS * number
    return None if _page is None else _page[at : at + 8 * WORDS].cast("q")


def enter(numbers: memoryview, found: list[int]) -> list[int] | None:
    """Add to an account; what stood there before. None: another process is at it."""
    with _guard, _locked() as mine:
        if not mine:
            return None
        before = list(numbers)
        for i, more in enumerate(found):
            numbers[i] += more
        return before


def _end() -> None:
    """The line; of several ranks the first's."""
    if _owner != os.getpid() or _page is None or (os.environ.get("RANK") or "0") != "0":
        return
    _flush()
    for line in (*(last() for last in lasts), sentence(*counted())):
        if line:
            say(line)


def counted() -> tuple[list[int], list[str]]:
    """Pictures and pixels of each kind, and a reason of each."""
    assert _page is not None
    return list(_page[:48].cast("q")), [
        bytes(_page[48 + kind * _REASON :][:_REASON]).rstrip(b"\0").decode(errors="replace") for kind in range(3)
    ]


def sentence(found: list[int], reasons: list[str]) -> str:
    """What is said of pictures and pixels of each kind; nothing where there were no pictures."""
    pictures, pixels = found[:3], found[3:]
    if not sum(pixels) or min(pictures) < 0:
        return ""
    least, most = (100 * part // sum(pixels) for part in (pixels[WHOLE], pixels[WHOLE] + pixels[PART]))
    share = f"{least} %" if least == most else f"{least} to {most} %"
    parts = [f"{pictures[WHOLE]:,} of {sum(pictures):,} pictures whole"]
    for kind, by in ((PART, "in part"), (PILLOW, "by Pillow")):
        if pictures[kind]:
            parts.append(f"{pictures[kind]:,} {by}" + (f" ({reasons[kind]})" if reasons[kind] else ""))
    return f"{share} of the pixels' work was done by Go: {', '.join(parts)}"
