"""Pictures pasted on others.

A new picture of one colour stays deferred until another one is pasted on it. The result is that
picture with a border of the colour; the part outside the canvas is cropped. Pictures pasted later
go into place when the batch is computed.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from . import stages
from .pictures import (
    Canvas,
    Recipe,
    as_colour,
    as_integers,
    find_recipe,
    new_image,
    on_uninstall,
    patch,
    recording,
)
from .replacements import is_own, replace

if TYPE_CHECKING:
    from PIL.Image import Image

    from .pictures import Colour

_MOST_PIXELS = 1 << 26  # so that one fits into memory
_LARGEST_SIDE = 1 << 16


def _record_new(original: Callable[..., Image], mode: str, size: Sequence[int], color: Colour = 0) -> Any:
    if recording() is None or mode not in ("L", "RGB") or type(size) not in (tuple, list) or len(size) != 2:
        return original(mode, size, color)
    sides, fill = as_integers(size), as_colour(0 if color is None else color, mode)
    if len(sides) != 2 or fill is None or not all(0 < side < _LARGEST_SIDE for side in sides) or sides[0] * sides[1] > _MOST_PIXELS:
        return original(mode, size, color)
    return new_image(Canvas(mode, (sides[0], sides[1]), fill))


def _wrap_paste(original: Callable[..., None]) -> Any:
    @functools.wraps(original)
    def paste(self: Any, im: Image | Colour, box: Sequence[int] | None = None, mask: Image | None = None) -> Any:
        canvas, result = self._im, None
        if mask is None and recording():
            under = canvas if type(canvas) is Canvas else find_recipe(self)
            result = under and _record_paste(under, im, box)
        if result is None:
            return original(self, im, box, mask)
        self._im = result

    return paste


def _record_paste(canvas: Canvas | Recipe, image: Image, box: Sequence[int] | None) -> Recipe | Canvas | None:
    """Return the picture that pasting gives, or None if Pillow has to paste."""
    at = (0, 0) if box is None else box
    if type(at) is not tuple or len(at) not in (2, 4):
        return None
    recipe, edges = find_recipe(image), as_integers(at)
    if recipe is None or recipe.mode != canvas.mode or len(edges) != len(at) or max(map(abs, edges)) >= _LARGEST_SIDE:
        return None
    (left, top), (width, height), (wide, high) = edges[:2], recipe.size, canvas.size
    if edges[2:] not in ([], [left + width, top + height]) or max(width, height) >= _LARGEST_SIDE:
        return None
    inside = max(0, -left), max(0, -top), min(width, wide - left), min(height, high - top)
    if inside[0] >= inside[2] or inside[1] >= inside[3]:  # outside the canvas
        return canvas
    recipe = recipe.copy()
    if inside != (0, 0, width, height):
        recipe = recipe.crop(inside)
    return lay_over(canvas, recipe, max(0, left), max(0, top))


def lay_over(canvas: Canvas | Recipe, recipe: Recipe, left: int, top: int) -> Recipe | None:
    """Return a canvas or a recipe with another picture pasted on it. None: Pillow pastes."""
    wide, high = canvas.size
    if type(canvas) is Recipe:
        pasted = [op[1].source for op in canvas.ops if op[0] == stages.PASTE]
        if any(op[0] in stages.LOCAL for op in recipe.ops) or recipe.source in (canvas.source, *pasted):
            return None  # tiles of the same picture: it would be decoded for each
        part = stages.Part(recipe.source, recipe.ops, recipe.mode, recipe.size)
        return canvas.then(stages.PASTE, part, left, top, canvas.mode, canvas.size)
    right, bottom = wide - left - recipe.size[0], high - top - recipe.size[1]
    if any((left, top, right, bottom)):
        recipe = recipe.then("expand", left, top, right, bottom, canvas.fill, size=canvas.size)
    return recipe


def install() -> None:
    """Patch Pillow in this process, once."""
    if _installed:
        return
    _installed.append(True)
    on_uninstall(_installed.clear)
    Image = sys.modules["PIL.Image"]
    replace(Image, "new", _record_new)
    if is_own(Image.Image.paste, Image):
        patch(Image.Image, "paste", _wrap_paste(Image.Image.paste))


_installed: list[bool] = []
