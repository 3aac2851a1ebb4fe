"""Whether a process's limits (ulimit -n, ulimit -f) leave enough for deferring and feeding.

A job that runs without Stoker must also run with it.
"""

from __future__ import annotations

import os
import resource

_PLENTY = 1 << 16  # descriptors; with a higher limit, open ones are not counted
_OURS = 24  # descriptors [J]: at most 10 by Stoker, and as many again for what the program opens while it trains
_OF_A_WORKER = 5  # descriptors of the trainer for each worker that it starts
_LARGEST_FILE = 1 << 36  # bytes: shared memory is a file, as large as the batches in flight


def find_lack(workers: int = 0) -> str:
    """Return why this process cannot feed this many workers; "" if it can."""
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if most != resource.RLIM_INFINITY and most < _LARGEST_FILE:
        return f"a file may have no more than {most:,} bytes, and shared memory is one (ulimit -f)"
    needed, free = _OURS + _OF_A_WORKER * workers, count_free_descriptors()
    return f"{free} files more may be open, and it may take {needed} (ulimit -n)" if free < needed else ""


def are_descriptors_scarce() -> bool:
    """Whether so few descriptors are left that the next open may fail. Called at each fetch."""
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
    """Return a number of descriptors that this process may still open."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if most == resource.RLIM_INFINITY or most >= _PLENTY:
        return _PLENTY
    try:
        return most - len(os.listdir("/proc/self/fd")) + 1  # the listing takes one itself
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
