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
import sys
from collections.abc import Callable, Iterator
from typing import Any

WHOLE, PART, PILLOW = range(3)  # by the daemon up to the batch; by it one by one, and on in Python; by Pillow
_REASON = 512  # bytes of one

_page: memoryview | None = (
    None  # of the process that began, and of its workers: pictures, then pixels, of each kind; then a reason of each
)
_file = -1
_owner = 0
_found = [0] * 6  # by this process, not yet on the page
_reasons = [b""] * 3
_fetching = 0


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
    os.ftruncate(descriptor, mmap.PAGESIZE)
    _page, _file = memoryview(mmap.mmap(descriptor, mmap.PAGESIZE)), descriptor


@contextlib.contextmanager
def counting() -> Iterator[None]:
    """A fetch, of which pictures are counted."""
    global _fetching
    _fetching += 1
    try:
        yield
    finally:
        _fetching -= 1
        _flush()


@contextlib.contextmanager
def uncounted() -> Iterator[None]:
    """Part of a fetch that is done for comparison."""
    global _fetching
    before, _fetching = _fetching, 0
    try:
        yield
    finally:
        _fetching = before


def went(source: Any, kind: int) -> None:
    """Count what becomes of a file that waited."""
    if kind > source.went:
        if source.went >= 0:
            _add(source.went, -1, source.size)
        _add(kind, 1, source.size)
        source.went = kind


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
    """In a forked child: what was found is the parent's."""
    global _fetching
    _fetching, _found[:] = 0, [0] * 6


os.register_at_fork(after_in_child=_forked)


def _add(kind: int, count: int, size: tuple[int, int]) -> None:
    _found[kind] += count
    _found[3 + kind] += count * size[0] * size[1]


def _flush() -> None:
    """Bring to the page what was found; next time, where another process is at it."""
    if _page is None or not any(_found):
        return
    try:
        fcntl.lockf(_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return
    try:
        numbers = _page[:48].cast("q")
        for i, found in enumerate(_found):
            numbers[i] += found
            _found[i] = 0
        for kind, reason in enumerate(_reasons):
            at = 48 + kind * _REASON
            if reason and not _page[at]:
                _page[at : at + len(reason)] = reason
    finally:
        fcntl.lockf(_file, fcntl.LOCK_UN)


def _end() -> None:
    """The line; of several ranks the first's."""
    if _owner != os.getpid() or _page is None or (os.environ.get("RANK") or "0") != "0":
        return
    _flush()
    if line := sentence(*counted()):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # it has no stderr any more
            sys.stderr.write(f"stoker: feed: {line}\n")


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
