"""Pictures that are pasted on others.

A new picture of one colour waits for one to be pasted on it: together they are that picture with a border, and what the
border cuts off is left out. Further ones are laid into their places when all are made.
"""

from __future__ import annotations

import sys
from typing import Any

from . import stages
from .pictures import Canvas, Recipe, _fill, _integers, bare, deferred, like, put, recording, undoing
from .standins import is_own, replace

MOST = 1 << 26  # pixels of one, so that there is memory for it
SIDE = 1 << 16


def _new(original: Any, mode: Any, size: Any, color: Any = 0) -> Any:
    if recording() is None or mode not in ("L", "RGB") or type(size) not in (tuple, list) or len(size) != 2:
        return original(mode, size, color)
    sides, fill = _integers(size), _fill(0 if color is None else color, mode)
    if len(sides) != 2 or fill is None or not all(0 < side < SIDE for side in sides) or sides[0] * sides[1] > MOST:
        return original(mode, size, color)
    return bare(None, Canvas(mode, (sides[0], sides[1]), fill))


def _paste_in_place_of(original: Any) -> Any:
    @like(original)
    def paste(self: Any, im: Any, box: Any = None, mask: Any = None) -> Any:
        canvas, made = self._im, None
        if mask is None and recording():
            under = canvas if type(canvas) is Canvas else deferred(self)
            made = under and _pasted(under, im, box)
        if made is None:
            return original(self, im, box, mask)
        self._im = made

    return paste


def _pasted(canvas: Canvas | Recipe, image: Any, box: Any) -> Recipe | Canvas | None:
    """What a picture is with another one on it; None: Pillow sees to it."""
    at = (0, 0) if box is None else box
    if type(at) is not tuple or len(at) not in (2, 4):
        return None
    recipe, edges = deferred(image), _integers(at)
    if recipe is None or recipe.mode != canvas.mode or len(edges) != len(at) or max(map(abs, edges)) >= SIDE:
        return None
    (left, top), (width, height), (wide, high) = edges[:2], recipe.size, canvas.size
    if edges[2:] not in ([], [left + width, top + height]) or max(width, height) >= SIDE:
        return None
    inside = max(0, -left), max(0, -top), min(width, wide - left), min(height, high - top)
    if inside[0] >= inside[2] or inside[1] >= inside[3]:  # it lies beside the canvas
        return canvas
    recipe = recipe.copy()
    if inside != (0, 0, width, height):
        recipe = recipe.crop(inside)
    return laid(canvas, recipe, max(0, left), max(0, top))


def laid(canvas: Any, recipe: Recipe, left: int, top: int) -> Recipe | None:
    """A picture with another one inside, or one of one colour, which has mode, size and fill."""
    wide, high = canvas.size
    if type(canvas) is Recipe:
        pasted = [op[1].source for op in canvas.ops if op[0] == stages.PASTE]
        if any(op[0] in stages.HERE for op in recipe.ops) or recipe.source in (canvas.source, *pasted):
            return None  # tiles of one picture: it would be decoded for each
        part = stages.Part(recipe.source, recipe.ops, recipe.mode, recipe.size)
        return canvas.then(stages.PASTE, part, left, top, canvas.mode, canvas.size)
    right, bottom = wide - left - recipe.size[0], high - top - recipe.size[1]
    if any((left, top, right, bottom)):
        recipe = recipe.then("expand", left, top, right, bottom, canvas.fill, size=canvas.size)
    return recipe


def install() -> None:
    """Put it in place in this process, with the rest."""
    if _installed:
        return
    _installed.append(True)
    undoing(_installed.clear)
    Image = sys.modules["PIL.Image"]
    replace(Image, "new", _new)
    if is_own(Image.Image.paste, Image):
        put(Image.Image, "paste", _paste_in_place_of(Image.Image.paste))


_installed: list[bool] = []
