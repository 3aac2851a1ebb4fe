"""torchvision's Gaussian blurs: they wait as pictures do. Torch makes them when what comes before has been made."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from ..recipes.pictures import Recipe, bare, deferred
from ..recipes.plan import Look
from ..recipes.stages import stands

NAME = "torch_blur"
_MOST = 1e6  # of a sigma

#: Where torchvision has it, by what is recorded.
_HOMES = {
    "v1": ("torchvision.transforms._functional_tensor", "gaussian_blur"),
    "v2": ("torchvision.transforms.v2.functional._misc", "gaussian_blur_image"),
}
ROWS = ("", "WC", "C"), ("", "W", "")  # how pil_to_tensor's lie: of several bands, of one
_PLANES, _THRICE = ("HW", "W", ""), ("0", "W", "")  # one after the other; one band, seen three times
_KNOWN = {*ROWS, _PLANES, _THRICE}


def op_of(recipe: Recipe, kind: str, kernel: Any, sigma: Any, steps: tuple[str, ...]) -> tuple[Any, ...] | None:
    """The operation; None where it is not plain, or torchvision raises."""
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


def blurred(
    tensor: torch.Tensor, kind: str, kernel: list[int], sigma: list[float], steps: tuple[str, ...], *_: Any
) -> torch.Tensor:
    """What torchvision makes of bytes (band, row, column) that lie so."""
    bands, height, width = tensor.shape
    sides = height, width, bands
    look = Look("CHW" if bands > 1 else "1HW", tuple(steps), torch.uint8)
    if look.steps == _THRICE:
        tensor = tensor[:1].contiguous().expand(bands, height, width)
    elif tensor.stride() != look.strides(sides):
        tensor = look.empty(sides, sides).copy_(tensor)
    home, name = _HOMES[kind]
    return getattr(sys.modules[home], name)(tensor, list(kernel), list(sigma))


def of_picture(kind: str) -> Callable[..., Any]:
    """What stands for a function that blurs a picture of Pillow's."""

    def blur(original: Any, img: Any, kernel_size: Any, sigma: Any = None) -> Any:
        recipe = None if isinstance(img, torch.Tensor) else deferred(img)
        op = recipe and op_of(recipe, kind, kernel_size, sigma, ROWS[recipe.bands == 1])
        return bare(img, recipe.then(*op)) if recipe and op else original(img, kernel_size, sigma)

    return blur


stands(NAME, blurred)
