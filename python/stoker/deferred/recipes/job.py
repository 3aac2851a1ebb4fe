"""Jobs: a picture to be computed, and the memory that its pixels are written to."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from .bits import same_bits
from .pictures import Recipe, compute_by_pillow
from .plan import Steps

if TYPE_CHECKING:
    from PIL._imaging import ImagingCore


class Shared(NamedTuple):
    """Where a tensor's storage begins in memory that is shared with the daemon."""

    owner: Any  # keeps the descriptor open
    descriptor: int
    at: int  # bytes before the storage


class Job(NamedTuple):
    """A picture, the elementwise steps applied to its bytes (None: none), and where the result
    goes."""

    recipe: Recipe
    steps: Steps | None
    place: torch.Tensor  # (channel, row, column)
    shared: Shared | None  # the memory that place is in; None: this process's own

    def run(self, pixels: torch.Tensor) -> torch.Tensor:
        """Apply the steps to bytes, which they may change."""
        return pixels if self.steps is None else self.steps.run(pixels)

    def table(self) -> torch.Tensor:
        """Return what the steps make of each byte in each band: (band, 256)."""
        assert self.steps is not None
        return compute_table(self.recipe.bands, self.steps)

    def has_one_table(self) -> bool:
        """Whether the steps are the same for all bands."""
        assert self.steps is not None
        return _has_one_table(self.recipe.bands, self.steps)

    def compute_by_pillow(self) -> None:
        """Compute it in this process, as the script would."""
        core = compute_by_pillow(self.recipe.source, self.recipe.ops)
        self.place.copy_(self.run(read_pixels(core)))


def make_job(recipe: Recipe, steps: Steps, place: torch.Tensor, shared: Shared | None) -> Job:
    """Make a job. Steps that change no value are left out."""
    return Job(recipe, None if is_identity(recipe.bands, steps) else steps, place, shared)


_tables: dict[Any, torch.Tensor] = {}  # equal steps are mostly the same object
_values = torch.arange(256, dtype=torch.uint8)


def compute_table(bands: int, steps: Steps) -> torch.Tensor:
    """Return what steps make of each byte in each band: (band, 256)."""
    key = bands, steps
    if key not in _tables:
        if len(_tables) >= 64:
            _tables.clear()
        _tables[key] = steps.run(_values.expand(bands, 256).reshape(bands, 16, 16).clone()).reshape(bands, -1)
    return _tables[key]


@functools.lru_cache(256)
def _has_one_table(bands: int, steps: Steps) -> bool:
    table = compute_table(bands, steps)
    return same_bits(table, table[:1].expand_as(table))


@functools.lru_cache(256)
def is_identity(bands: int, steps: Steps) -> bool:
    """Whether steps change no value."""
    if not steps.calls:
        return True
    table = compute_table(bands, steps)
    return table.dtype == torch.uint8 and torch.equal(table, _values.expand(bands, 256))


def read_pixels(core: ImagingCore) -> torch.Tensor:
    """Return the bytes of a core image as (channel, row, column)."""
    from PIL import Image

    array = np.array(Image.Image()._new(core))
    return torch.from_numpy(array.reshape(*array.shape[:2], -1)).permute(2, 0, 1).contiguous()
