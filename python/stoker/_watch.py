"""Input that `stoker observe` does not recognize, in one line: `for batch in
stoker.watch(batches)`."""

import sys
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T", bound=Iterable)


def watch(batches: T) -> T:
    """Let `stoker observe` time the loop's waiting for these batches.

    batches may be anything to iterate over: a generator, a queue, a simulator, your own loader.
    Without an observer, and for a DataLoader, which is recognized, it returns batches unchanged.
    """
    hook = sys.modules.get("_stoker_hook")
    watched = hook.watch(batches) if hook is not None else None
    return batches if watched is None else watched
