"""Where an iteration of torch's own stands in its epoch, for a loader that is not translated, and how another goes on.

The order stays: random numbers are set to what they were when the epoch began, and the sampler's first batches are
passed over without loading them. What a sample's transforms draw is new, as with torchdata's.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import IterableDataset

from .._verbs import StokerError


class Plainly:
    """The position of a loader."""

    def __init__(self, world: int) -> None:
        self._world = world
        self._batches = 0  # that were handed out of this epoch
        self._before: dict[str, Any] = {}  # what the epoch began with
        self._pending: dict[str, Any] = {}  # a state that the next iteration goes on from
        self._passing = 0  # batches that the sampler is to pass over

    def begin(self, loader: Any, make: Any) -> Iterator[Any]:
        """An iteration of the loader, which make() makes."""
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
        batches = _Counted(make(), self)
        if unordered:
            self._batches, most = 0, self._batches
            for _ in itertools.islice(batches, most):
                pass
        return batches

    def passing(self, sampler: Any) -> Any:
        """A sampler of batches, without those that are to be passed over."""
        return sampler if not self._passing else _Behind(sampler, self)

    def passed(self) -> int:
        """How many they are, once."""
        count, self._passing = self._passing, 0
        return count

    def handed(self) -> None:
        self._batches += 1

    def ended(self) -> None:
        self._batches = 0

    def state(self) -> dict[str, Any]:
        """Empty where the next iteration begins an epoch."""
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


class _Behind:
    """What a sampler gives behind its first batches; all of it, the next time."""

    def __init__(self, sampler: Any, place: Plainly) -> None:
        self._sampler, self._place = sampler, place

    def __iter__(self) -> Iterator[Any]:
        # At the first batch: torch begins some iterations that it never asks for one.
        yield from itertools.islice(iter(self._sampler), self._place.passed(), None)

    def __len__(self) -> int:
        return len(self._sampler)


class _Counted:
    """An iteration whose batches are counted."""

    def __init__(self, batches: Any, place: Plainly) -> None:
        self._batches, self._place = batches, place

    def __iter__(self) -> Iterator[Any]:
        return self

    def __len__(self) -> int:
        return len(self._batches)

    def __next__(self) -> Any:
        try:
            batch = next(self._batches)
        except StopIteration:
            self._place.ended()
            raise
        self._place.handed()
        return batch

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["_batches"], name)
