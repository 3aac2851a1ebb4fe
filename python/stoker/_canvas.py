"""New pictures of one colour, which wait for a picture to be pasted on them: together they are that picture with a
border, and what the border cuts off is left out. And `thumbnail`, which changes a picture where it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import get_ident
from typing import Any

from ._pictures import BANDS, Canvas, Recipe, _fill, _integers, _of, bare, deferred, like, put, recording, replace, undoing

_MOST = 1 << 26  # pixels of one, so that there is memory for it
_SIDE = 1 << 16


def _new(original: Any, mode: Any, size: Any, color: Any = 0) -> Any:
    if recording() is None or mode not in ("L", "RGB") or type(size) not in (tuple, list) or len(size) != 2:
        return original(mode, size, color)
    sides, fill = _integers(size), _fill(0 if color is None else color, mode)
    if len(sides) != 2 or fill is None or not all(0 < side < _SIDE for side in sides) or sides[0] * sides[1] > _MOST:
        return original(mode, size, color)
    return bare(None, Canvas(mode, (sides[0], sides[1]), fill))


def _paste_in_place_of(original: Any) -> Any:
    @like(original)
    def paste(self: Any, im: Any, box: Any = None, mask: Any = None) -> Any:
        canvas = self._im
        made = _pasted(canvas, im, box) if type(canvas) is Canvas and mask is None and recording() else None
        if made is None:
            return original(self, im, box, mask)
        self._im = made

    return paste


def _pasted(canvas: Canvas, image: Any, box: Any) -> Recipe | Canvas | None:
    """What a new picture is with another one on it; None: Pillow sees to it."""
    at = (0, 0) if box is None else box
    if type(at) is not tuple or len(at) not in (2, 4):
        return None
    recipe, edges = deferred(image), _integers(at)
    if recipe is None or recipe.mode != canvas.mode or len(edges) != len(at) or max(map(abs, edges)) >= _SIDE:
        return None
    (left, top), (width, height), (wide, high) = edges[:2], recipe.size, canvas.size
    if edges[2:] not in ([], [left + width, top + height]) or max(width, height) >= _SIDE:
        return None
    inside = max(0, -left), max(0, -top), min(width, wide - left), min(height, high - top)
    if inside[0] >= inside[2] or inside[1] >= inside[3]:  # it lies beside the canvas
        return canvas
    recipe = recipe.copy()
    if inside != (0, 0, width, height):
        recipe = recipe.crop(inside)
    left, top = max(0, left), max(0, top)
    right, bottom = wide - left - recipe.size[0], high - top - recipe.size[1]
    if any((left, top, right, bottom)):
        recipe = recipe.then("expand", left, top, right, bottom, canvas.fill, size=canvas.size)
    return recipe


def _thumbnail_in_place_of(original: Any) -> Any:
    @like(original)
    def thumbnail(self: Any, *args: Any, **kwargs: Any) -> Any:
        if type(self._im) is not Recipe or deferred(self, BANDS) is None or "resize" in vars(self):
            return original(self, *args, **kwargs)  # of a file that is not read yet less may be decoded
        lent: list[Recipe] = []

        def resize(*rest: Any, **more: Any) -> Any:  # whose core the original takes
            image = type(self).resize(self, *rest, **more)
            if type(image._im) is Recipe:
                image._im.lent = get_ident()
                lent.append(image._im)
            return image

        self.resize = resize
        try:
            return original(self, *args, **kwargs)
        finally:
            del self.resize
            for recipe in lent:
                recipe.lent = 0

    return thumbnail


_WRAPS: dict[str, Callable[[Any], Any]] = {"paste": _paste_in_place_of, "thumbnail": _thumbnail_in_place_of}


def install() -> None:
    """Put it in place in this process, with the rest."""
    if _installed:
        return
    _installed.append(True)
    undoing(_installed.clear)
    Image = sys.modules["PIL.Image"]
    replace(Image, "new", _new)
    for name, wrap in _WRAPS.items():
        if _of(method := getattr(Image.Image, name), Image):
            put(Image.Image, name, wrap(method))


_installed: list[bool] = []
