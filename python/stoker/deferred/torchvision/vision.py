"""Functions of torchvision's transforms.v2 on deferred tensors of bytes.

Geometry and colours become operations of the picture, which the daemon computes if its bytes equal
torch's. Functions that map each value become a table, computed by torchvision itself. Any other
function gets the materialized tensor.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from ..recipes import pictures, share
from ..recipes.job import compute_table, is_identity, read_pixels
from ..recipes.pictures import Recipe, new_image, recording
from ..recipes.plan import (
    SAMPLE_SIDES,
    Cell,
    Layout,
    Plan,
    Steps,
    make_call,
    read_layout,
)
from ..recipes.replacements import replace
from ..torch import blurs
from ..torch.tensors import DeferredTensor

if TYPE_CHECKING:
    from types import EllipsisType

    from torchvision.transforms import InterpolationMode

_HOME = "torchvision.transforms.v2.functional."
_GEOMETRY, _COLOR, _MISC = _HOME + "_geometry", _HOME + "_color", _HOME + "_misc"
_AXES = {1: "1HW", 3: "CHW"}
_SMALLER_SIDES = (3, 4)  # sides of samples that grow to SAMPLE_SIDES
_MARGIN = 6  # by which the sides exceed those of a cropped sample
_MOST = 1 << 15  # of a side


def _find_picture(plan: Plan) -> Recipe | None:
    """Return the picture whose bytes a plan's tensor holds, or None. A table becomes an operation
    of it."""
    recipe, steps = plan.recipe, plan.steps
    if recipe is None or steps is None or plan.tail or plan.dtype != torch.uint8 or recipe.mode not in ("L", "RGB"):
        return None
    if plan.layout.axes != _AXES[recipe.bands]:
        return None
    if is_identity(recipe.bands, steps):
        return recipe.copy()
    return None if "point" in pictures.untrusted else recipe.then("point", compute_table(recipe.bands, steps).flatten().tolist())


def _find_plan(image: torch.Tensor) -> Plan | None:
    """Return the plan of a deferred tensor of bytes, or None."""
    plan = image.cell.plan if type(image) is DeferredTensor else None
    return plan if plan is not None and plan.dtype == torch.uint8 else None


def _append_op(
    plan: Plan, func: Callable[[Any], Any], *op: Any, size: tuple[int, int] | None = None, bands: int = 0
) -> DeferredTensor | None:
    """Return a deferred tensor after a further operation of the picture.

    func does the operation to a sample, whose sides become SAMPLE_SIDES.
    """
    if op[0] in pictures.untrusted:
        share.keep_reason(share.PART, f"such as {op[0]}, which is torch's here")
        return None
    recipe = _find_picture(plan)
    if recipe is None:
        return None
    before, (width, height) = recipe.bands, size or recipe.size
    bands = bands or before
    if min(width, height) < 2 or max(width, height) > _MOST:
        return None
    layout = _find_layout(op[0], plan, func, size is not None, bands)
    if layout is None:
        return None
    after = recipe.then(*op, size=(width, height), mode="L" if bands == 1 else recipe.mode)
    sides = height, width, bands
    return DeferredTensor(Cell(Plan(after, (), Steps(layout, (), layout), (), layout.shape(sides), torch.uint8, sides)))


_layouts: dict[Any, Layout | None] = {}


def _find_layout(name: str, plan: Plan, func: Callable[[Any], Any], grows: bool, bands: int) -> Layout | None:
    """Return the layout of func's result. It is tried once, on a small sample with the same layout."""
    assert plan.steps is not None and plan.recipe is not None
    (height, width, _), layout = plan.base_sides, plan.layout
    cut = layout.cut and (plan.recipe.size[1] != height, plan.recipe.size[0] != width)
    key = name, layout, cut, plan.recipe.bands, bands
    if key not in _layouts:
        if len(_layouts) >= 256:
            _layouts.clear()
        sample_sides = (*(_SMALLER_SIDES if grows else SAMPLE_SIDES), plan.recipe.bands)
        base_sides = (sample_sides[0] + _MARGIN * cut[0], sample_sides[1] + _MARGIN * cut[1], sample_sides[2]) if cut else sample_sides
        _layouts[key] = _try_layout(layout.empty(sample_sides, base_sides), func, layout._replace(axes=_AXES[bands], cut=False), bands)
    return _layouts[key]


def _try_layout(sample: torch.Tensor, func: Callable[[Any], Any], layout: Layout, bands: int) -> Layout | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            after = func(sample.fill_(0))
    except Exception:
        return None  # the real call raises or warns
    if after.dtype != torch.uint8 or after.shape != layout.shape((*SAMPLE_SIDES, bands)):
        return None
    if bands > 1 and after.stride() == (0, SAMPLE_SIDES[1], 1):
        return layout._replace(steps=("0", "W", ""))
    return read_layout(after, layout, bands)


def _append_call(original: Callable[..., torch.Tensor], image: torch.Tensor, *rest: Any) -> DeferredTensor | None:
    """Return a deferred tensor after a function that maps each value."""
    plan = image.cell.plan
    after = None if plan is None else plan.then(make_call(original, rest, {}))
    return None if after is None else DeferredTensor(Cell(after))


def _are_numbers(*values: Any) -> bool:
    return all(type(value) in (int, float) for value in values)


# Recorders. Each gets torchvision's function first, and returns None if that must be called.


def _record_resize(
    original: Callable[..., torch.Tensor],
    image: torch.Tensor,
    size: int | Sequence[int] | None,
    interpolation: InterpolationMode | int = 2,
    max_size: int | None = None,
    antialias: bool | EllipsisType | None = ...,
) -> Any:
    plan, module = _find_plan(image), sys.modules[_GEOMETRY]
    if plan is None or antialias is not True and (antialias is not ... or _find_default(original) is not True):
        return None
    height, width = plan.shape[-2:]
    try:
        kind = module._check_interpolation(interpolation)
        down, along = module._compute_resized_output_size((height, width), size=size, max_size=max_size)
    except Exception:
        return None  # the original raises it
    if (down, along) == (height, width):
        return image
    if kind.value not in ("bilinear", "bicubic") or type(down) is not int or type(along) is not int:
        return None
    name = "torch_" + kind.value
    return _append_op(plan, lambda sample: original(sample, list(SAMPLE_SIDES), kind, None, True), name, along, down, size=(along, down))


def _find_default(function: Callable[..., Any]) -> Any:
    """Return the default of a function's last argument."""
    return (function.__defaults__ or (None,))[-1]


def _record_pad(
    original: Callable[..., torch.Tensor],
    image: torch.Tensor,
    torch_padding: list[int],
    fill: float,
    padding_mode: str,
) -> Any:
    plan = _find_plan(image)
    if plan is None or not _is_padding(torch_padding) or not _are_numbers(fill):
        return None
    if padding_mode == "constant":
        return _append_expand(original, plan, torch_padding, fill, [fill] * plan.shape[0])
    left, right, top, bottom = torch_padding
    (height, width), inner = plan.shape[-2:], _INNER.get(padding_mode)
    if inner is None or max(left, right) > width - inner or max(top, bottom) > height - inner:
        return None
    return _append_op(
        plan, lambda sample: original(sample, _SAMPLE_PADDING, fill, padding_mode),
        "pad", padding_mode, left, top, right, bottom, size=(width + left + right, height + top + bottom),
    )  # fmt: skip


def _record_pad_in_colour(
    original: Callable[..., torch.Tensor],
    image: torch.Tensor,
    torch_padding: list[int],
    fill: Sequence[float],
    padding_mode: str,
) -> Any:
    plan = _find_plan(image)
    if plan is None or not _is_padding(torch_padding) or padding_mode != "constant" or type(fill) not in (list, tuple):
        return None
    if len(fill) != plan.shape[0] or not _are_numbers(*fill) or not all(0 <= value <= 255 for value in fill):
        return None
    return _append_expand(original, plan, torch_padding, fill, [int(value) for value in fill])  # torch truncates, too


def _append_expand(
    original: Callable[..., torch.Tensor],
    plan: Plan,
    torch_padding: list[int],
    fill: float | Sequence[float],
    colour: Sequence[float],
) -> DeferredTensor | None:
    """Record padding with a colour of bytes."""
    if not all(float(value) in _BYTES for value in colour):
        return None
    (left, right, top, bottom), (height, width) = torch_padding, plan.shape[-2:]
    return _append_op(
        plan, lambda sample: original(sample, _SAMPLE_PADDING, fill, "constant"),
        "expand", left, top, right, bottom, [int(value) for value in colour], size=(width + left + right, height + top + bottom),
    )  # fmt: skip


def _is_padding(torch_padding: list[int]) -> bool:
    """Whether this is a padding that adds pixels and removes none."""
    return (
        type(torch_padding) is list
        and len(torch_padding) == 4
        and all(type(side) is int and 0 <= side < _MOST for side in torch_padding)
        and any(torch_padding)
    )


_SAMPLE_PADDING = [1, 2, 1, 1]  # grows _SMALLER_SIDES to SAMPLE_SIDES
_BYTES = set(map(float, range(256)))
_INNER = {"edge": -_MOST, "reflect": 1, "symmetric": 0}  # padding must be at most the side less this


def _record_brightness(original: Callable[..., torch.Tensor], image: torch.Tensor, brightness_factor: float) -> Any:
    plan = image.cell.plan if type(image) is DeferredTensor else None
    plain = plan is not None and (plan.dtype == torch.uint8 or plan.dtype.is_floating_point)
    known = _are_numbers(brightness_factor) and 0 <= brightness_factor <= _MOST_FACTOR
    return _append_call(original, image, brightness_factor) if plain and known else None


_MOST_FACTOR = 1e6


def _make_adjust_recorder(name: str, least: float, most: float) -> Callable[..., Any]:
    """Return a recorder for adjust_saturation_image and the like, which have one factor."""

    def adjust(original: Callable[..., torch.Tensor], image: torch.Tensor, *factor: Any, **named: Any) -> Any:
        plan, given = _find_plan(image), (*factor, *named.values())
        if plan is None or len(given) != 1 or not _are_numbers(*given) or not least <= given[0] <= most:
            return None
        if plan.shape[0] == 1 and name != "torch_contrast":
            return image
        return _append_op(plan, lambda sample: original(sample, *given), name, *given)

    return adjust


def _record_grayscale(original: Callable[..., torch.Tensor], image: torch.Tensor, num_output_channels: int = 1) -> Any:
    plan, count = _find_plan(image), num_output_channels
    if plan is None or plan.shape[0] != 3 or type(count) is not int or count not in (1, 3):
        return None
    return _append_op(plan, lambda sample: original(sample, count), "torch_grayscale", count, bands=count)


def _record_channels(
    original: Callable[..., torch.Tensor], image: torch.Tensor, permutation: list[int] | torch.Tensor
) -> Any:
    plan = _find_plan(image)
    order = permutation.tolist() if type(permutation) is torch.Tensor else permutation
    if plan is None or plan.shape[0] != 3 or type(order) is not list or sorted(order) != [0, 1, 2]:
        return None
    return _append_op(plan, lambda sample: original(sample, order), "torch_channels", order)


def _record_blur(
    original: Callable[..., torch.Tensor],
    image: torch.Tensor,
    kernel_size: int | Sequence[int],
    sigma: float | Sequence[float] | None = None,
) -> Any:
    plan = _find_plan(image)
    recipe = None if plan is None else _find_picture(plan)
    if plan is None or recipe is None or plan.layout.cut:
        return None
    op = blurs.make_op(recipe, "v2", kernel_size, sigma, plan.layout.steps)
    return None if op is None else _append_op(plan, lambda sample: original(sample, [3, 3], [1.0, 1.0]), *op)


def _record_posterize(original: Callable[..., torch.Tensor], image: torch.Tensor, bits: int) -> Any:
    return _append_call(original, image, bits) if _find_plan(image) is not None and type(bits) is int and 0 <= bits < 8 else None


def _record_solarize(original: Callable[..., torch.Tensor], image: torch.Tensor, threshold: float) -> Any:
    plain = _find_plan(image) is not None and _are_numbers(threshold) and threshold <= 255
    return _append_call(original, image, threshold) if plain else None


def _record_invert(original: Callable[..., torch.Tensor], image: torch.Tensor) -> Any:
    return _append_call(original, image) if _find_plan(image) is not None else None


def _record_to_dtype(
    original: Callable[..., torch.Tensor],
    image: torch.Tensor,
    dtype: torch.dtype = torch.float,
    scale: bool = False,
) -> Any:
    plan = _find_plan(image)
    plain = plan is not None and type(dtype) is torch.dtype and dtype != plan.dtype and type(scale) is bool
    return _append_call(original, image, dtype, scale) if plain else None


def _record_normalize(
    original: Callable[..., torch.Tensor],
    image: torch.Tensor,
    mean: Sequence[float],
    std: Sequence[float],
    inplace: bool = False,
) -> Any:
    plan = image.cell.plan if type(image) is DeferredTensor else None
    plain = plan is not None and plan.dtype.is_floating_point and inplace is False
    lists = all(type(each) in (list, tuple) and _are_numbers(*each) for each in (mean, std))
    return _append_call(original, image, tuple(mean), tuple(std)) if plain and lists and all(std) else None


def _record_to_picture(original: Callable[..., torch.Tensor], pic: torch.Tensor, mode: str | None = None) -> Any:
    plan = _find_plan(pic)
    recipe = None if plan is None else _find_picture(plan)
    if recipe is None or mode not in (None, recipe.mode):
        return None
    original(torch.zeros(recipe.bands, 1, 1, dtype=torch.uint8), mode)  # raises and warns about the mode
    return new_image(recipe)


def record_or_call(record: Callable[..., Any]) -> Callable[..., Any]:
    """Return a replacement that calls a recorder, and the original if that returns None."""

    def call(original: Callable[..., torch.Tensor], *args: Any, **named: Any) -> Any:
        tensor = None
        if recording() is not None and args:
            try:
                tensor = record(original, *args, **named)
            except TypeError:  # an unknown signature, or a wrong call
                pass
        return original(*args, **named) if tensor is None else tensor

    return call


_RECORDERS: dict[str, dict[str, Callable[..., Any]]] = {
    _GEOMETRY: {"resize_image": _record_resize, "_pad_with_scalar_fill": _record_pad, "_pad_with_vector_fill": _record_pad_in_colour},
    _COLOR: {
        "adjust_brightness_image": _record_brightness,
        "adjust_saturation_image": _make_adjust_recorder("torch_saturation", 0, _MOST_FACTOR),
        "adjust_contrast_image": _make_adjust_recorder("torch_contrast", 0, _MOST_FACTOR),
        "adjust_hue_image": _make_adjust_recorder("torch_hue", -0.5, 0.5),
        "rgb_to_grayscale_image": _record_grayscale,
        "permute_channels_image": _record_channels,
        "posterize_image": _record_posterize,
        "solarize_image": _record_solarize,
        "invert_image": _record_invert,
    },
    _MISC: {"to_dtype_image": _record_to_dtype, "normalize_image": _record_normalize, "gaussian_blur_image": _record_blur},
}


def is_imported() -> bool:
    """Whether the program has imported torchvision's v2."""
    return all(name in sys.modules and "__file__" in vars(sys.modules[name]) for name in _RECORDERS)


def install() -> None:
    """Patch torchvision in this process."""
    for name, functions in _RECORDERS.items():
        for function, ours in functions.items():
            if hasattr(sys.modules[name], function):
                replace(sys.modules[name], function, record_or_call(ours))
    replace(sys.modules["torchvision.transforms.functional"], "to_pil_image", record_or_call(_record_to_picture))
    if hasattr(sys.modules[_MISC], "_gaussian_blur_image_pil"):
        replace(sys.modules[_MISC], "_gaussian_blur_image_pil", blurs.record_picture_blur("v2"))


#: These multiply and add with one rounding or with two. Few pixels show which, so if one of these
#: operations differs, none is trusted.
FUSED = {"torch_saturation", "torch_contrast", "torch_grayscale"}


# Computing by torchvision.


def compute_by_torch(name: str, tensor: torch.Tensor, *arguments: Any) -> torch.Tensor:
    """Compute a recorded operation of a tensor of bytes by torchvision."""
    from torchvision.transforms.v2 import functional as F

    if name in ("torch_bilinear", "torch_bicubic"):
        width, height = arguments
        return F.resize_image(tensor, [height, width], F.InterpolationMode(name[6:]), antialias=True)
    return {
        "torch_saturation": F.adjust_saturation_image,
        "torch_contrast": F.adjust_contrast_image,
        "torch_hue": F.adjust_hue_image,
        "torch_grayscale": F.rgb_to_grayscale_image,
        "torch_channels": F.permute_channels_image,
    }[name](tensor, *arguments)



def _make_operation(name: str) -> Callable[..., Any]:
    def apply(image: torch.Tensor, *arguments: Any) -> Any:
        from PIL import Image

        result = compute_by_torch(name, read_pixels(image.im), *arguments)
        return Image.fromarray(result[0].numpy() if len(result) == 1 else result.permute(1, 2, 0).contiguous().numpy())

    return apply


NAMES = (
    "torch_bilinear", "torch_bicubic", "torch_saturation", "torch_contrast", "torch_hue", "torch_grayscale", "torch_channels",
)  # fmt: skip
pictures.PILLOW_OPERATIONS.update({name: _make_operation(name) for name in NAMES})
