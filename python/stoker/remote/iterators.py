"""Iterators of torch's DataLoader whose workers run in a Ray cluster."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .._warning import say_once
from .cluster import Lack
from .depth import deepen

if TYPE_CHECKING:
    import torch

_CONTEXT = "_DataLoader__multiprocessing_context"  # where a loader has the module that makes its processes


_MOST_WORKERS = 4096  # as stoker feed --workers takes
_ADDRESS = re.compile(r"auto|local|[^/\s]+:[0-9]{1,5}")  # as stoker feed --ray takes


def choose_cluster(address: str | None, workers: int | None) -> None:
    """Let workers run in the Ray cluster at an address from now on, as `stoker feed --ray` does."""
    if not (isinstance(address, str) and _ADDRESS.fullmatch(address)):
        raise ValueError(f'stoker.feed(ray={address!r}, workers={workers!r}): the address of a Ray cluster is expected: "auto", "HOST:PORT" or "local"')
    if workers is not None and not (type(workers) is int and 1 <= workers <= _MOST_WORKERS):
        raise ValueError(f"stoker.feed(workers={workers!r}): 1 to {_MOST_WORKERS} workers for each DataLoader are expected")
    os.environ["STOKER_FEED_RAY"] = address
    os.environ["STOKER_FEED_WORKERS"] = str(workers or "")


@contextlib.contextmanager
def in_cluster(loader: torch.utils.data.DataLoader[Any]) -> Iterator[Callable[[Any], None] | None]:
    """Let the iterator that is made within have its workers in the cluster that STOKER_FEED_RAY names.

    Yields the function to call with that iterator, or None if they are here. Says why not, unless there is no such name.
    """
    address = os.environ.get("STOKER_FEED_RAY", "")
    if not address:
        yield None
        return
    before = loader.__dict__.get(_CONTEXT), loader.num_workers
    try:
        loader.num_workers = _count_workers(loader)
        context = _make_context(loader, address)
    except Lack as lack:
        loader.num_workers = before[1]
        say_why_here(str(lack))
        yield None
        return
    loader.__dict__[_CONTEXT] = context
    try:
        yield lambda iterator: deepen(iterator, loader, context)
    finally:
        loader.__dict__[_CONTEXT], loader.num_workers = before


def say_why_here(why: str) -> None:
    """Say once why an iterator's workers run on this machine, if a cluster was named."""
    if os.environ.get("STOKER_FEED_RAY"):
        say_once(f"workers run on this machine: {why}")


def _count_workers(loader: torch.utils.data.DataLoader[Any]) -> int:
    """Return how many workers a loader gets: its own number, or another one that was asked for."""
    own, wanted = loader.num_workers, int(os.environ.get("STOKER_FEED_WORKERS") or 0)
    if not wanted or wanted == own:
        return own
    if loader._dataset_kind != 0:
        say_once(f"--workers {wanted} is not for an IterableDataset, whose workers choose the samples: {own} stay")
        return own
    say_once(f"--workers {wanted} in place of {own}: the samples and their order stay, their random numbers differ")
    return wanted


def _make_context(loader: torch.utils.data.DataLoader[Any], address: str) -> Any:
    try:
        from . import beside, workers
    except ImportError as error:
        raise Lack(f"{error} (pip install ray)") from None
    context = workers.Context(loader, address)
    say_once(beside.say_where([actor.node for actor in context.actors]))
    return context
