"""torchvision's Gaussian blurs. They are deferred like pictures; torch computes them after the
daemon."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from ..recipes.pictures import Recipe, find_recipe, new_image
from ..recipes.plan import Layout
from ..recipes.stages import register_local

if TYPE_CHECKING:
    from PIL.Image import Image

NAME = "torch_blur"
_MOST = 1e6  # the largest sigma

#: torchvision's function for each kind that is recorded.
_HOMES = {
    "v1": ("torchvision.transforms._functional_tensor", "gaussian_blur"),
    "v2": ("torchvision.transforms.v2.functional._misc", "gaussian_blur_image"),
}
ROWS = ("", "WC", "C"), ("", "W", "")  # steps of pil_to_tensor's result: several bands, one band
_PLANES, _THRICE = ("HW", "W", ""), ("0", "W", "")  # plane by plane; one band, expanded to three
_KNOWN = {*ROWS, _PLANES, _THRICE}


def make_op(
    recipe: Recipe,
    kind: str,
    kernel: int | Sequence[int],
    sigma: float | Sequence[float],
    steps: tuple[str, ...],
) -> tuple[Any, ...] | None:
    """Return the recorded operation, or None if torchvision raises or the arguments are unusual."""
    sides = [kernel, kernel] if type(kernel) is int else kernel
    if type(sides) not in (list, tuple) or len(sides) != 2:
        return None
    if any(type(side) is not int or side < 1 or side % 2 == 0 for side in sides):
        return None
    spread = [float(sigma)] * 2 if type(sigma) in (int, float) else sigma
    if type(spread) not in (list, tuple) or len(spread) not in (1, 2):
        return None
    if steps not in _KNOWN or any(type(each) not in (int, float) or not 0 < each < _MOST for each in spread):
        return None
    width, height = recipe.size
    if sides[0] // 2 >= width or sides[1] // 2 >= height:  # more than can be reflected
        return None
    return NAME, kind, list(sides), [*spread, *spread][:2], steps, recipe.mode, recipe.size


def blur(
    tensor: torch.Tensor, kind: str, kernel: list[int], sigma: list[float], steps: tuple[str, ...], *_: Any
) -> torch.Tensor:
    """Blur bytes (band, row, column) by torchvision, in a layout with these steps."""
    bands, height, width = tensor.shape
    sides = height, width, bands
    layout = Layout("CHW" if bands > 1 else "1HW", tuple(steps), torch.uint8)
    if layout.steps == _THRICE:
        tensor = tensor[:1].contiguous().expand(bands, height, width)
    elif tensor.stride() != layout.strides(sides):
        tensor = layout.empty(sides, sides).copy_(tensor)
    home, name = _HOMES[kind]
    return getattr(sys.modules[home], name)(tensor, list(kernel), list(sigma))


def record_picture_blur(kind: str) -> Callable[..., Any]:
    """Return a recorder for a function that blurs an image of Pillow."""

    def record(
        original: Callable[..., Image],
        img: Image,
        kernel_size: int | Sequence[int],
        sigma: float | Sequence[float] | None = None,
    ) -> Any:
        recipe = None if isinstance(img, torch.Tensor) else find_recipe(img)
        op = recipe and make_op(recipe, kind, kernel_size, sigma, ROWS[recipe.bands == 1])
        return new_image(recipe.then(*op)) if recipe and op else original(img, kernel_size, sigma)

    return record


register_local(NAME, blur)
