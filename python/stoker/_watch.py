"""One line for input that `stoker observe` does not know: `for batch in stoker.watch(batches)`."""

import sys
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T", bound=Iterable)


def watch(batches: T) -> T:
    """Have the loop's waits for these batches timed by `stoker observe`, and nothing else changed.

    For a generator, a queue, a simulator, a loader of your own: anything to iterate over. Where nobody
    observes, and for a DataLoader, which is seen as it is, it gives back what it got.
    """
    hook = sys.modules.get("_stoker_hook")
    watched = hook.watch(batches) if hook is not None else None
    return batches if watched is None else watched
