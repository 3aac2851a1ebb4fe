"""Pictures that the daemon cannot make in one go: it makes what comes first for a whole batch, the rest is made here.

Two operations are of that kind: torchvision's blurs, whose sums torch itself has to make, and a picture that is pasted
on another one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from . import pictures
from .job import Job, pixels
from .pictures import Op, Recipe, Source, with_ops

#: What is done here to bytes (band, row, column), by the operation's name, whose last arguments are mode and size
#: before it.
HERE: dict[str, Callable[..., torch.Tensor]] = {}
PASTE = "paste"
_FLIPS = 0, 1  # Pillow's numbers, left and right, top and bottom


class Part(NamedTuple):
    """A picture that is put on another one."""

    source: Source
    ops: tuple[Op, ...]
    mode: str
    size: tuple[int, int]

    def recipe(self) -> Recipe:
        return Recipe(self.source, self.ops, self.mode, self.size)


def begun(job: Job) -> list[Job]:
    """What the daemon makes of it first; nothing where it makes all of it."""
    ops = job.recipe.ops
    for at, op in enumerate(ops):
        if op[0] in HERE:
            return _laid(job, at) or _first(job, at)
    return []


def _first(job: Job, at: int) -> list[Job]:
    """What comes before the operation at that place, and what is pasted from there on."""
    ops = job.recipe.ops
    parts = [Part(job.recipe.source, ops[:at], *ops[at][-2:]), *(op[1] for op in ops[at:] if op[0] == PASTE)]
    return [_made(part) for part in parts]


def _made(part: Part) -> Job:
    recipe, (width, height) = part.recipe(), part.size
    return Job(recipe, None, torch.empty(height, width, recipe.bands, dtype=torch.uint8).permute(2, 0, 1), None)


def _laid(job: Job, at: int) -> list[Job]:
    """Pictures on pictures, each brought to its place of the whole in turn; none where something else comes behind."""
    ops = job.recipe.ops
    last = max(number for number, op in enumerate(ops) if op[0] in HERE)
    turns = [op for op in ops[last + 1 :] if op[0] == "transpose" and op[1] in _FLIPS]
    if any(op[0] != PASTE for op in ops[at : last + 1]) or len(turns) != len(ops) - last - 1:
        return []
    mode, (wide, high) = ops[at][-2:]
    jobs = [job._replace(recipe=_turned(Part(job.recipe.source, ops[:at], mode, (wide, high)), turns))]
    for _, part, left, top, *_ in ops[at : last + 1]:
        width, height = part.size
        for op in turns:
            if op[0] == "transpose":
                left, top = (wide - left - width, top) if op[1] == 0 else (left, high - top - height)
        place = job.place[:, top : top + height, left : left + width]
        jobs.append(Job(_turned(part, turns), job.steps, place, None))
    return jobs


def _turned(part: Part, turns: list[Op]) -> Recipe:
    recipe = part.recipe()
    for op in turns:
        recipe = recipe.then(*op)
    return recipe


def go_on(job: Job, firsts: list[Job]) -> bool:
    """Make the rest of it; whether there was any."""
    if firsts[0].place is job.place:
        return False
    at = len(firsts[0].recipe.ops)
    value, parts, rest = firsts[0].place, iter(firsts[1:]), []
    for op in job.recipe.ops[at:]:
        if op[0] not in HERE:
            rest.append(op)
            continue
        value, rest = _then(value, rest), []
        if op[0] == PASTE:
            _put(value, next(parts).place, *op[2:4])
        else:
            value = HERE[op[0]](value, *op[1:])
    job.place.copy_(job.run(_then(value, rest)))
    return True


def _then(value: torch.Tensor, ops: list[Op]) -> torch.Tensor:
    """With operations of Pillow's."""
    return pixels(with_ops(image_of(value), ops).im) if ops else value


def _put(value: torch.Tensor, part: torch.Tensor, left: int, top: int) -> None:
    _, height, width = part.shape
    value[:, top : top + height, left : left + width] = part


def image_of(value: torch.Tensor) -> Any:
    """Bytes (band, row, column) as a picture of Pillow's."""
    from PIL import Image

    array = value[0] if len(value) == 1 else value.permute(1, 2, 0)
    return Image.fromarray(np.ascontiguousarray(array.numpy()))


def _pasted(value: torch.Tensor, part: Part, left: int, top: int, *_: Any) -> torch.Tensor:
    value = value.clone()
    _put(value, pixels(pictures.by_pillow(part.source, part.ops)), left, top)
    return value


def stands(name: str, make: Callable[..., torch.Tensor]) -> None:
    """Have an operation of that name be made here."""
    HERE[name] = make
    pictures.MAKERS[name] = lambda image, *arguments: image_of(make(pixels(image.im), *arguments))


stands(PASTE, _pasted)
