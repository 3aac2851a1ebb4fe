"""Pictures that need more than one job: the daemon computes the first stages, this process the
rest.

Two operations are computed here: torchvision's Gaussian blurs, whose sums torch must compute, and
pasting one picture on another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from . import pictures
from .job import Job, read_pixels
from .pictures import Op, Recipe, Source, apply_ops

#: Operations computed in this process, by name, on bytes (band, row, column). Their last arguments
#: are the picture's mode and size before the operation.
LOCAL: dict[str, Callable[..., torch.Tensor]] = {}
PASTE = "paste"
_FLIPS = 0, 1  # Pillow's numbers for left to right and top to bottom


class Part(NamedTuple):
    """A picture that is pasted on another."""

    source: Source
    ops: tuple[Op, ...]
    mode: str
    size: tuple[int, int]

    def recipe(self) -> Recipe:
        return Recipe(self.source, self.ops, self.mode, self.size)


def find_first_jobs(job: Job) -> list[Job]:
    """Return the jobs that the daemon computes first; none if it can compute the whole picture."""
    ops = job.recipe.ops
    for at, op in enumerate(ops):
        if op[0] in LOCAL:
            return _paste_in_place(job, at) or _split_before(job, at)
    return []


def _split_before(job: Job, at: int) -> list[Job]:
    """Return jobs for the picture before the operation at this index, and for all that is pasted
    after it."""
    ops = job.recipe.ops
    parts = [Part(job.recipe.source, ops[:at], *ops[at][-2:]), *(op[1] for op in ops[at:] if op[0] == PASTE)]
    return [_make_job(part) for part in parts]


def _make_job(part: Part) -> Job:
    recipe, (width, height) = part.recipe(), part.size
    return Job(recipe, None, torch.empty(height, width, recipe.bands, dtype=torch.uint8).permute(2, 0, 1), None)


def _paste_in_place(job: Job, at: int) -> list[Job]:
    """Return jobs that write each pasted picture straight to its place.

    Returns none if other operations than flips follow.
    """
    ops = job.recipe.ops
    last = max(number for number, op in enumerate(ops) if op[0] in LOCAL)
    turns = [op for op in ops[last + 1 :] if op[0] == "transpose" and op[1] in _FLIPS]
    if any(op[0] != PASTE for op in ops[at : last + 1]) or len(turns) != len(ops) - last - 1:
        return []
    mode, (wide, high) = ops[at][-2:]
    jobs = [job._replace(recipe=_turn(Part(job.recipe.source, ops[:at], mode, (wide, high)), turns))]
    for _, part, left, top, *_ in ops[at : last + 1]:
        width, height = part.size
        for op in turns:
            if op[0] == "transpose":
                left, top = (wide - left - width, top) if op[1] == 0 else (left, high - top - height)
        place = job.place[:, top : top + height, left : left + width]
        jobs.append(Job(_turn(part, turns), job.steps, place, None))
    return jobs


def _turn(part: Part, turns: list[Op]) -> Recipe:
    recipe = part.recipe()
    for op in turns:
        recipe = recipe.then(*op)
    return recipe


def finish_job(job: Job, firsts: list[Job]) -> bool:
    """Compute the rest of a job from its first jobs. Returns False if nothing was left to do."""
    if firsts[0].place is job.place:
        return False
    at = len(firsts[0].recipe.ops)
    value, parts, rest = firsts[0].place, iter(firsts[1:]), []
    for op in job.recipe.ops[at:]:
        if op[0] not in LOCAL:
            rest.append(op)
            continue
        value, rest = _apply_pillow(value, rest), []
        if op[0] == PASTE:
            _paste(value, next(parts).place, *op[2:4])
        else:
            value = LOCAL[op[0]](value, *op[1:])
    job.place.copy_(job.run(_apply_pillow(value, rest)))
    return True


def _apply_pillow(value: torch.Tensor, ops: list[Op]) -> torch.Tensor:
    """Apply operations of Pillow."""
    return read_pixels(apply_ops(to_image(value), ops).im) if ops else value


def _paste(value: torch.Tensor, part: torch.Tensor, left: int, top: int) -> None:
    _, height, width = part.shape
    value[:, top : top + height, left : left + width] = part


def to_image(value: torch.Tensor) -> Any:
    """Convert bytes (band, row, column) to an image of Pillow."""
    from PIL import Image

    array = value[0] if len(value) == 1 else value.permute(1, 2, 0)
    return Image.fromarray(np.ascontiguousarray(array.numpy()))


def _paste_part(value: torch.Tensor, part: Part, left: int, top: int, *_: Any) -> torch.Tensor:
    value = value.clone()
    _paste(value, read_pixels(pictures.compute_by_pillow(part.source, part.ops)), left, top)
    return value


def register_local(name: str, make: Callable[..., torch.Tensor]) -> None:
    """Register an operation that this process computes."""
    LOCAL[name] = make
    pictures.PILLOW_OPERATIONS[name] = lambda image, *arguments: to_image(make(read_pixels(image.im), *arguments))


register_local(PASTE, _paste_part)
