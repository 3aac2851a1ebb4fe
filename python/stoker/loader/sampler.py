"""loader.sampler of a translated loader: torch's samplers, in the daemon's order.

Iterating the loader does not use them. They serve code that builds another loader from its
batch_sampler, as Accelerate does to skip the first batches: it continues with the same samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch.utils.data

from .order import Plan, permutation
from .position import Feeder


class _InDaemonOrder:
    """The samples of this rank, in the order of the next iteration.

    Reading them to the end counts as that iteration.
    """

    def __init__(self, dataset: torch.utils.data.Dataset[Any], feeder: Feeder) -> None:
        super().__init__(dataset)  # type: ignore[call-arg] # torch's
        self._feeder = feeder
        self._samples = len(dataset)

    def __iter__(self) -> Iterator[int]:
        spec, at = self._feeder.spec, self._feeder.next
        epoch, consumed = at
        plan, rank = self._make_plan(), self._feeder.place.rank
        order = permutation(spec["seed"], epoch, self._samples) if spec["shuffle"] else int
        for step in range(plan.steps(consumed)):
            for position, _ in plan.take(consumed, step, rank):
                yield order(position)
        if self._feeder.next == at:
            self._feeder.set_epoch(epoch + 1)

    def __len__(self) -> int:
        plan = self._make_plan()
        steps = plan.steps(0)
        return max(0, steps - 1) * plan.batch + (len(plan.take(0, steps - 1, self._feeder.place.rank)) if steps else 0)

    def set_epoch(self, epoch: int) -> None:
        self._feeder.set_epoch(epoch)

    def _make_plan(self) -> Plan:
        spec = self._feeder.spec
        return Plan(self._samples, spec["world"], spec["batch"], spec["tail"])


class Shuffled(_InDaemonOrder, torch.utils.data.RandomSampler):
    """In the order of (seed, epoch)."""


class InOrder(_InDaemonOrder, torch.utils.data.SequentialSampler):
    """In the data set's order."""
