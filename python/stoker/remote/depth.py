"""How many batches each worker is asked for ahead: the script's prefetch_factor, and as many more as the network needs.

While one batch is on its way, a worker could prepare others. So it is asked for as many more as that time holds, if the
loop waits. The batches stay the same: they are drawn early only from samplers where the program cannot tell, and workers
that persist begin the next epoch with the random numbers that they would have had.
"""

from __future__ import annotations

import math
import time
import weakref
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import BatchSampler, DistributedSampler, RandomSampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler

from .._warning import say

if TYPE_CHECKING:
    from .workers import Context

MOST_MORE = 32  # batches [J] of a worker beyond the script's: 20 ms on the way, 0.6 ms a batch
_SHARE = 0.25  # of an object store [J] for batches under way: other loaders use it as well
_WAITED = 0.1  # part of the loop's time: as much is a stall (diagnose/thresholds.go)
_LOOKS = 2  # batches of each worker before its times are believed
_found: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()  # what a loader's last iterator came to
_told: set[str] = set()


def deepen(iterator: Any, loader: torch.utils.data.DataLoader[Any], context: Context) -> None:
    """Let an iterator ask its workers for more batches ahead when the network delays them."""
    depth = _Depth(iterator, loader, context)
    depth.begin(iterator)
    found = weakref.ref(iterator)  # else the iterator would live until a collection, and its workers with it

    def next_data() -> Any:
        return depth.give_batch(found())

    def reset(loader: Any, first_iter: bool = False) -> None:
        depth.begin_epoch(found(), loader, first_iter)

    iterator._next_data, iterator._reset = next_data, reset


class _Depth:
    def __init__(self, iterator: Any, loader: torch.utils.data.DataLoader[Any], context: Context) -> None:
        self._context, self._loader = context, weakref.ref(loader)
        self._persistent = loader.persistent_workers
        self._own = iterator._prefetch_factor
        self._workers = iterator._num_workers
        self._now = _found.get(loader, self._own)  # batches ahead for each worker
        self._waited = self._round = 0.0  # seconds: of waiting, and when the round began
        self._left = self._workers  # batches of this round, in which each worker gives one

    def begin(self, iterator: Any) -> None:
        if self._now > self._own and not self._find_obstacle(iterator):
            self._ask(iterator)

    def give_batch(self, iterator: Any) -> Any:
        begun = time.monotonic()
        self._round = self._round or begun
        batch = type(iterator)._next_data(iterator)
        now = time.monotonic()
        self._waited += now - begun
        self._left -= 1
        if self._left <= 0:
            if self._waited > _WAITED * (now - self._round):
                self._grow(iterator)
            self._waited, self._round, self._left = 0.0, now, self._workers
        return batch

    def begin_epoch(self, iterator: Any, loader: Any, first_iter: bool) -> None:
        """Begin another epoch of workers that persist, with the state and the draws of the script alone."""
        if isinstance(iterator._sampler_iter, _Indices):
            self._context.roll_back(self.count_own(iterator))
        iterator._prefetch_factor = self._own
        type(iterator)._reset(iterator, loader, first_iter)
        self._waited, self._round, self._left = 0.0, 0.0, self._workers
        self.begin(iterator)

    def count_own(self, iterator: Any) -> int:
        """Return how many batches the script alone would have drawn by now, unless its sampler ends before."""
        return self._own * self._workers + iterator._rcvd_idx

    def may_draw(self, iterator: Any) -> bool:
        """Whether the next draw is due, or may come early.

        At its end a sampler may draw once more from a generator of the script's. So the last draws come when they are due.
        """
        number = iterator._send_idx
        return number < self.count_own(iterator) or number < len(iterator._index_sampler) - 1

    def _grow(self, iterator: Any) -> None:
        wanted = self._own + self._count_more()
        if wanted <= self._now:
            return
        way = max(worker.times.least_way for worker in self._context.workers)
        why = self._find_obstacle(iterator)
        if why not in _told:
            _told.add(why)
            what = f"prefetch_factor={wanted} would cover that, and stays {self._own}: {why}"
            say(f"a batch is {1e3 * way:.0f} ms on its way: " + (what if why else f"{wanted} are asked for ahead of each worker, not {self._own}"))
        if not why:
            self._now = wanted
            if (loader := self._loader()) is not None:
                _found[loader] = wanted
            self._ask(iterator)

    def _ask(self, iterator: Any) -> None:
        self._context.set_ahead(self._now)
        if not isinstance(iterator._sampler_iter, _Indices):
            iterator._sampler_iter = _Indices(iterator, self)
        iterator._prefetch_factor = self._now
        # Those that came before their turn wait in the iterator: each of them draws another one when it is given.
        while iterator._send_idx - iterator._rcvd_idx < self._now * self._workers:
            before = iterator._send_idx
            iterator._try_put_index()
            if iterator._send_idx == before:
                return

    def _count_more(self) -> int:
        """Return how many more batches a worker can prepare while one is on its way; as many as the stores have room for."""
        times = [worker.times for worker in self._context.workers]
        if any(each.count < _LOOKS for each in times):
            return 0
        more = max(math.ceil(each.least_way / max(each.fetch / each.count, 1e-6)) for each in times)
        room = self._context.find_room(max(each.largest for each in times), _SHARE)
        return max(0, min(more, MOST_MORE, room - self._own))

    def _find_obstacle(self, iterator: Any) -> str:
        """Return why asking for more would change the batches; "" if it would not."""
        if not self._context.map_style:
            return "its IterableDataset would read further ahead than the script lets it"
        if not getattr(iterator, "_in_order", True):
            return "batches come in the order in which they are ready"
        if found := _find_visible(iterator._index_sampler):
            return f"{type(found).__name__} may draw what others see"
        if self._persistent and any(worker.changes is not False for worker in self._context.workers):
            return "fetching may change the data set, which persistent workers keep"
        return ""


class _Indices:
    """An iterator's draws from its batch sampler. One that may not come yet ends like the sampler, and is tried again."""

    def __init__(self, iterator: Any, depth: _Depth) -> None:
        self._draws, self._iterator, self._depth = iterator._sampler_iter, weakref.ref(iterator), depth

    def __iter__(self) -> _Indices:
        return self

    def __next__(self) -> Any:
        if not self._depth.may_draw(self._iterator()):
            raise StopIteration
        return next(self._draws)


_AT_FIRST = (SequentialSampler, SubsetRandomSampler, WeightedRandomSampler, DistributedSampler, list, tuple, range)


def _find_visible(sampler: Any) -> Any:
    """Return the sampler whose draws the program may see or change; None if all are made with the first, or by its own generator."""
    if type(sampler) is BatchSampler:
        return _find_visible(sampler.sampler)
    if type(sampler) is RandomSampler:
        at_first = not sampler.replacement and sampler.num_samples <= len(sampler.data_source)
        return None if sampler.generator is None or at_first else sampler
    return None if type(sampler) in _AT_FIRST else sampler
