"""The position of a loader that is not translated: where torch's own iteration is in its epoch.

To resume with the same order, the generator gets the state that it had at the epoch's start, and
the sampler's first batches are skipped without loading them. Random numbers of transforms are new,
as in torchdata.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.utils.data import IterableDataset

from .._verbs import StokerError


class TorchPosition:
    """The position of a loader."""

    def __init__(self, world: int) -> None:
        self._world = world
        self._batches = 0  # batches of this epoch that were handed out
        self._before: dict[str, Any] = {}  # the state at the epoch's start
        self._pending: dict[str, Any] = {}  # a loaded state, for the next iteration
        self._passing = 0  # batches that the sampler should skip

    def begin(self, loader: torch.utils.data.DataLoader[Any], make: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        """Begin an iteration of the loader by make()."""
        state, self._pending = self._pending, {}
        chance = torch.default_generator if loader.generator is None else loader.generator
        if state:
            chance.set_state(torch.frombuffer(bytearray.fromhex(state["random"]), dtype=torch.uint8))
            if state["epoch"] is not None:
                loader.sampler.set_epoch(state["epoch"])
        epoch = getattr(loader.sampler, "epoch", None)
        self._before = {"random": chance.get_state().numpy().tobytes().hex(), "epoch": epoch, "world": self._world}
        self._batches = state["batches"] if state else 0
        unordered = isinstance(loader.dataset, IterableDataset)
        self._passing = 0 if unordered else self._batches
        batches = _Counting(make(), self)
        if unordered:
            self._batches, most = 0, self._batches
            for _ in itertools.islice(batches, most):
                pass
        return batches

    def skip_passing(self, sampler: Iterable[Any]) -> Any:
        """Return a sampler of batches that skips the first ones, if some should be skipped."""
        return sampler if not self._passing else _Skipping(sampler, self)

    def take_passing(self) -> int:
        """Return how many batches to skip; 0 at the next call."""
        count, self._passing = self._passing, 0
        return count

    def note_batch(self) -> None:
        self._batches += 1

    def note_end(self) -> None:
        self._batches = 0

    def state(self) -> dict[str, Any]:
        """Return the position; {} if the next iteration begins an epoch."""
        if self._pending or not self._batches:
            return dict(self._pending)
        return {"batches": self._batches, **self._before}

    def load(self, state: dict[str, Any]) -> None:
        if state and "batches" not in state:
            raise StokerError(
                "this loader is torch's own, which cannot go on from a state of one that was fed: make the transform "
                "translatable, as when the state was written"
            )
        if state and state["world"] != self._world:
            raise StokerError(
                f"this loader is torch's own: it cannot go on from a state of {state['world']} ranks with {self._world}"
            )
        self._pending = dict(state)


class _Skipping:
    """A sampler of batches that skips the first ones in its first iteration."""

    def __init__(self, sampler: Iterable[Any], place: TorchPosition) -> None:
        self._sampler, self._place = sampler, place

    def __iter__(self) -> Iterator[Any]:
        # Counted at the first batch: torch begins some iterations without taking any.
        yield from itertools.islice(iter(self._sampler), self._place.take_passing(), None)

    def __len__(self) -> int:
        return len(self._sampler)


class _Counting:
    """An iterator that counts batches."""

    def __init__(self, batches: Iterator[Any], place: TorchPosition) -> None:
        self._batches, self._place = batches, place

    def __iter__(self) -> Iterator[Any]:
        return self

    def __len__(self) -> int:
        return len(self._batches)

    def __next__(self) -> Any:
        try:
            batch = next(self._batches)
        except StopIteration:
            self._place.note_end()
            raise
        self._place.note_batch()
        return batch

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["_batches"], name)
