"""What Accelerate's prepare() needs of a stoker.DataLoader.

Accelerate wraps a loader of torch in another one, which prefetches a batch to recognize the last
one. A translated loader knows its last batch. So it is not wrapped, and keeps the attributes that
Accelerate reads: which loader is iterated, whether this is its last batch, how many samples of it
are padding, and the device of its tensors.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .dataloader import DataLoader


def prepare(loader: DataLoader[Any]) -> None:
    """Make the loader one of Accelerate's, in place: prepare() returns the object that it was
    given."""
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
    loader.__class__ = _make_prepared(type(loader))


@functools.cache
def _make_prepared(kind: type[Any]) -> type[Any]:
    from accelerate.data_loader import DataLoaderShard

    class Prepared(kind, DataLoaderShard):  # type: ignore[misc, valid-type]
        """A subclass, as skip_first_batches and gather_for_metrics check the class."""

        __class__ = property(lambda self: type(self))  # type: ignore[assignment] # Accelerate's __class__ returns torch's
        _is_accelerate_prepared = True

        def __iter__(self) -> Iterator[Any]:
            self.begin()
            for batch, last in _mark_last(kind.__iter__(self)):
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


def _mark_last(batches: Iterator[Any]) -> Iterator[tuple[Any, bool]]:
    """Yield batches, each with whether it is the last one."""
    if hasattr(batches, "has_ended"):
        for batch in batches:
            yield batch, batches.has_ended()
        return
    before = [next(batches, None)]  # torch's own iterator, which has to be read one batch ahead
    for batch in batches:
        yield before.pop(), False
        before.append(batch)
    if before != [None]:
        yield before.pop(), True
