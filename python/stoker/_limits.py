"""What a process's limits leave for feeding (ulimit -n, ulimit -f). A job that runs alone runs fed."""

from __future__ import annotations

import os
import resource

_PLENTY = 1 << 16  # descriptors that may be open: above that, open ones are not counted
_OURS = 24  # descriptors [J]: of our own at most 10, and as many again for what the program opens while it trains
_OF_A_WORKER = 5  # descriptors that a trainer has for each worker while it starts them
_LARGEST_FILE = 1 << 36  # bytes: memory that is shared is a file, as large as the batches that are under way


def find_lack(workers: int = 0) -> str:
    """Return why this process cannot feed so many workers; "" if it can."""
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if most != resource.RLIM_INFINITY and most < _LARGEST_FILE:
        return f"a file may have no more than {most:,} bytes, and shared memory is one (ulimit -f)"
    needed, free = _OURS + _OF_A_WORKER * workers, count_free_descriptors()
    return f"{free} files more may be open, and it may take {needed} (ulimit -n)" if free < needed else ""


def are_descriptors_scarce() -> bool:
    """Whether so few descriptors are left that whatever opens a file next may fail. Asked at each fetch."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if most == resource.RLIM_INFINITY or most >= _PLENTY:
        return False
    try:
        lowest = os.open(os.devnull, os.O_RDONLY)
        os.close(lowest)
    except OSError:
        return True
    return lowest > most // 2 and count_free_descriptors() < _OURS // 2


def count_free_descriptors() -> int:
    """How many descriptors this process may still open, or at least so many."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if most == resource.RLIM_INFINITY or most >= _PLENTY:
        return _PLENTY
    try:
        return most - len(os.listdir("/proc/self/fd")) + 1  # it takes one itself
    except OSError:  # no /proc, or no descriptor for it
        return _try_descriptors(_OURS * 4)


def _try_descriptors(most: int) -> int:
    opened: list[int] = []
    try:
        while len(opened) < most:
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        pass
    for descriptor in opened:
        os.close(descriptor)
    return len(opened)
