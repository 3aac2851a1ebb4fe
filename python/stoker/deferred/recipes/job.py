"""A picture to be made, and the place in memory that its pixels go to."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import torch

from ...daemon.room import Room
from .bits import same_bits
from .pictures import Recipe, by_pillow
from .plan import Steps


class Job(NamedTuple):
    """A picture, and where its pixels go after the steps, which are elementwise; without steps as they are."""

    recipe: Recipe
    steps: Steps | None
    place: torch.Tensor  # (channel, row, column)
    room: Room | None  # what place lies in

    def run(self, pixels: torch.Tensor) -> torch.Tensor:
        """What comes of bytes of one's own."""
        return pixels if self.steps is None else self.steps.run(pixels)

    def table(self) -> torch.Tensor:
        """What the steps give for each value of each band: (band, 256)."""
        assert self.steps is not None
        return table_of(self.recipe.bands, self.steps)

    def one_table(self) -> bool:
        """Whether the steps give the same for all bands."""
        assert self.steps is not None
        return _one_table(self.recipe.bands, self.steps)

    def by_pillow(self) -> None:
        """Make it as the script would have."""
        core = by_pillow(self.recipe.source, self.recipe.ops)
        self.place.copy_(self.run(pixels(core)))


def job_of(recipe: Recipe, steps: Steps, place: torch.Tensor, room: Room | None) -> Job:
    """The job of it, without steps where they change nothing."""
    return Job(recipe, None if idle(recipe.bands, steps) else steps, place, room)


_tables: dict[Any, torch.Tensor] = {}  # steps that are alike are mostly the same
_values = torch.arange(256, dtype=torch.uint8)


def table_of(bands: int, steps: Steps) -> torch.Tensor:
    """What steps give for each value of each band: (band, 256)."""
    key = bands, steps
    if key not in _tables:
        if len(_tables) >= 64:
            _tables.clear()
        _tables[key] = steps.run(_values.expand(bands, 256).reshape(bands, 16, 16).clone()).reshape(bands, -1)
    return _tables[key]


@functools.lru_cache(256)
def _one_table(bands: int, steps: Steps) -> bool:
    table = table_of(bands, steps)
    return same_bits(table, table[:1].expand_as(table))


@functools.lru_cache(256)
def idle(bands: int, steps: Steps) -> bool:
    """Whether steps change no value."""
    if not steps.calls:
        return True
    table = table_of(bands, steps)
    return table.dtype == torch.uint8 and torch.equal(table, _values.expand(bands, 256))


def pixels(core: Any) -> torch.Tensor:
    """The bytes of a core image: (channel, row, column)."""
    from PIL import Image

    array = np.array(Image.Image()._new(core))
    return torch.from_numpy(array.reshape(*array.shape[:2], -1)).permute(2, 0, 1).contiguous()
