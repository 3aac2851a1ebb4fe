"""A loader that Accelerate's prepare() was given.

Accelerate makes another loader of it, of torch's own, which looks one batch ahead to
know the last one. A loader that is fed knows its last batch, so it stays what it is and keeps
Accelerate's books itself: which loader is being read, whether this is its last batch, how
many samples of it are padding, and on which device the tensors are wanted.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any


def prepare(loader: Any) -> None:
    """Make the loader one of Accelerate's, in place: prepare() returns the object that it was given."""
    from accelerate.state import GradientState, PartialState

    books = {
        "iteration": 0,
        "skip_batches": 0,
        "rng_types": None,
        "synchronized_generator": None,
        "use_stateful_dataloader": False,
        "_non_blocking": False,
    }
    vars(loader).update(books, gradient_state=GradientState(), _drop_last=loader.drop_last)
    if loader.tail is None and loader._place.world > 1 and not loader.drop_last:
        loader.tail = "pad"  # even_batches: all batches are full
    if loader.device is None:
        loader.device = PartialState().device
    loader.__class__ = _prepared(type(loader))


@functools.cache
def _prepared(kind: type[Any]) -> type[Any]:
    from accelerate.data_loader import DataLoaderShard

    class Prepared(kind, DataLoaderShard):  # type: ignore[misc, valid-type]
        """By inheritance, since skip_first_batches and gather_for_metrics ask for it."""

        __class__ = property(lambda self: type(self))  # type: ignore[assignment] # Accelerate's says that it is torch's
        _is_accelerate_prepared = True

        def __iter__(self) -> Iterator[Any]:
            self.begin()
            for batch, last in _marked(kind.__iter__(self)):
                self.end_of_dataloader = last
                yield batch
            self.iteration += 1
            self.end()

        def set_epoch(self, epoch: int) -> None:
            self.iteration = epoch
            kind.set_epoch(self, epoch)

        @property
        def total_batch_size(self) -> int:
            return self.batch_sampler.batch_size * self._place.world

        def __reduce__(self) -> Any:
            return object.__new__, (kind,), self.__getstate__()

    Prepared.__name__, Prepared.__qualname__ = kind.__name__, kind.__qualname__
    return Prepared


def _marked(batches: Iterator[Any]) -> Iterator[tuple[Any, bool]]:
    """Batches, and whether each is the last one."""
    if hasattr(batches, "ended"):
        for batch in batches:
            yield batch, batches.ended()
        return
    before = [next(batches, None)]  # torch's own: only a look ahead tells
    for batch in batches:
        yield before.pop(), False
        before.append(batch)
    if before != [None]:
        yield before.pop(), True
