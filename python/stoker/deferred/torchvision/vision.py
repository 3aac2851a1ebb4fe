"""What torchvision's v2 asks of tensors of bytes that are made later: it is kept, and done with the pixels.

Geometry and colours become operations of the picture, which the daemon makes as torch does where it was seen to. What
gives each value another one becomes a table that torchvision itself computes. Anything else gets the real tensor.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch

from ..recipes import pictures, share
from ..recipes.job import idle, pixels, table_of
from ..recipes.pictures import Recipe, bare, recording
from ..recipes.plan import FEW, Cell, Look, Plan, Steps, call_of, look_of
from ..recipes.standins import replace
from ..torch import blurs
from ..torch.tensors import Later

_HOME = "torchvision.transforms.v2.functional."
_GEOMETRY, _COLOR, _MISC = _HOME + "_geometry", _HOME + "_color", _HOME + "_misc"
_AXES = {1: "1HW", 3: "CHW"}
_LESS = (3, 4)  # sides of samples of which FEW come
_ROUND = 6  # what samples are cut out of has more
_MOST = 1 << 15  # of a side


def _picture(plan: Plan) -> Recipe | None:
    """The picture whose bytes these are, what changes them by a table included; None: it is no such."""
    recipe, steps = plan.recipe, plan.steps
    if recipe is None or steps is None or plan.tail or plan.dtype != torch.uint8 or recipe.mode not in ("L", "RGB"):
        return None
    if plan.look.axes != _AXES[recipe.bands]:
        return None
    if idle(recipe.bands, steps):
        return recipe.copy()
    return None if "point" in pictures.left else recipe.then("point", table_of(recipe.bands, steps).flatten().tolist())


def _waiting(image: Any) -> Plan | None:
    """The plan of a tensor of bytes that is not made."""
    plan = image.cell.plan if type(image) is Later else None
    return plan if plan is not None and plan.dtype == torch.uint8 else None


def _made(
    plan: Plan, func: Callable[[Any], Any], *op: Any, size: tuple[int, int] | None = None, bands: int = 0
) -> Later | None:
    """With a further operation of the picture; func does it to a sample, whose sides become FEW."""
    if op[0] in pictures.left:
        share.because(share.PART, f"such as {op[0]}, which is torch's here")
        return None
    recipe = _picture(plan)
    if recipe is None:
        return None
    before, (width, height) = recipe.bands, size or recipe.size
    bands = bands or before
    if min(width, height) < 2 or max(width, height) > _MOST:
        return None
    look = _laid(op[0], plan, func, size is not None, bands)
    if look is None:
        return None
    after = recipe.then(*op, size=(width, height), mode="L" if bands == 1 else recipe.mode)
    sides = height, width, bands
    return Later(Cell(Plan(after, (), Steps(look, (), look), (), look.shape(sides), torch.uint8, sides)))


_looks: dict[Any, Look | None] = {}


def _laid(name: str, plan: Plan, func: Callable[[Any], Any], grows: bool, bands: int) -> Look | None:
    """How what func gives lies: tried once with a small sample that lies in the same way."""
    assert plan.steps is not None and plan.recipe is not None
    (height, width, _), look = plan.around, plan.look
    cut = look.cut and (plan.recipe.size[1] != height, plan.recipe.size[0] != width)
    key = name, look, cut, plan.recipe.bands, bands
    if key not in _looks:
        if len(_looks) >= 256:
            _looks.clear()
        few = (*(_LESS if grows else FEW), plan.recipe.bands)
        around = (few[0] + _ROUND * cut[0], few[1] + _ROUND * cut[1], few[2]) if cut else few
        _looks[key] = _tried(look.empty(few, around), func, look._replace(axes=_AXES[bands], cut=False), bands)
    return _looks[key]


def _tried(sample: Any, func: Callable[[Any], Any], look: Look, bands: int) -> Look | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            after = func(sample.fill_(0))
    except Exception:
        return None  # to be raised, or said, by the real one
    if after.dtype != torch.uint8 or after.shape != look.shape((*FEW, bands)):
        return None
    if bands > 1 and after.stride() == (0, FEW[1], 1):
        return look._replace(steps=("0", "W", ""))
    return look_of(after, look, bands)


def _each(original: Any, image: Any, *rest: Any) -> Later | None:
    """With each value changed as the original does it to a real tensor."""
    plan = image.cell.plan
    after = None if plan is None else plan.then(call_of(original, rest, {}))
    return None if after is None else Later(Cell(after))


def _numbers(*values: Any) -> bool:
    return all(type(value) in (int, float) for value in values)


# The functions that are stood for. Each gets torchvision's own first, and gives None for what is torchvision's.


def _resize(
    original: Any, image: Any, size: Any, interpolation: Any = 2, max_size: Any = None, antialias: Any = ...
) -> Any:
    plan, module = _waiting(image), sys.modules[_GEOMETRY]
    if plan is None or antialias is not True and (antialias is not ... or _default(original) is not True):
        return None
    height, width = plan.shape[-2:]
    try:
        kind = module._check_interpolation(interpolation)
        down, along = module._compute_resized_output_size((height, width), size=size, max_size=max_size)
    except Exception:
        return None  # to be raised by the original
    if (down, along) == (height, width):
        return image
    if kind.value not in ("bilinear", "bicubic") or type(down) is not int or type(along) is not int:
        return None
    name = "torch_" + kind.value
    return _made(plan, lambda sample: original(sample, list(FEW), kind, None, True), name, along, down, size=(along, down))


def _default(function: Any) -> Any:
    """Of its last argument."""
    return (function.__defaults__ or (None,))[-1]


def _pad(original: Any, image: Any, torch_padding: Any, fill: Any, padding_mode: Any) -> Any:
    plan = _waiting(image)
    if plan is None or not _sides(torch_padding) or not _numbers(fill):
        return None
    if padding_mode == "constant":
        return _expanded(original, plan, torch_padding, fill, [fill] * plan.shape[0])
    left, right, top, bottom = torch_padding
    (height, width), inner = plan.shape[-2:], _INNER.get(padding_mode)
    if inner is None or max(left, right) > width - inner or max(top, bottom) > height - inner:
        return None
    return _made(
        plan, lambda sample: original(sample, _FEWER, fill, padding_mode),
        "pad", padding_mode, left, top, right, bottom, size=(width + left + right, height + top + bottom),
    )  # fmt: skip


def _pad_in_colour(original: Any, image: Any, torch_padding: Any, fill: Any, padding_mode: Any) -> Any:
    plan = _waiting(image)
    if plan is None or not _sides(torch_padding) or padding_mode != "constant" or type(fill) not in (list, tuple):
        return None
    if len(fill) != plan.shape[0] or not _numbers(*fill) or not all(0 <= value <= 255 for value in fill):
        return None
    return _expanded(original, plan, torch_padding, fill, [int(value) for value in fill])  # as torch casts it


def _expanded(original: Any, plan: Plan, torch_padding: Any, fill: Any, colour: Any) -> Later | None:
    """With a colour of bytes around it."""
    if not all(float(value) in _BYTES for value in colour):
        return None
    (left, right, top, bottom), (height, width) = torch_padding, plan.shape[-2:]
    return _made(
        plan, lambda sample: original(sample, _FEWER, fill, "constant"),
        "expand", left, top, right, bottom, [int(value) for value in colour], size=(width + left + right, height + top + bottom),
    )  # fmt: skip


def _sides(torch_padding: Any) -> bool:
    """Whether something is put beside it, and nothing taken away."""
    return (
        type(torch_padding) is list
        and len(torch_padding) == 4
        and all(type(side) is int and 0 <= side < _MOST for side in torch_padding)
        and any(torch_padding)
    )


_FEWER = [1, 2, 1, 1]  # of which FEW come from _LESS
_BYTES = set(map(float, range(256)))
_INNER = {"edge": -_MOST, "reflect": 1, "symmetric": 0}  # what a side must have more than is put beside it


def _brightness(original: Any, image: Any, brightness_factor: Any) -> Any:
    plan = image.cell.plan if type(image) is Later else None
    plain = plan is not None and (plan.dtype == torch.uint8 or plan.dtype.is_floating_point)
    known = _numbers(brightness_factor) and 0 <= brightness_factor <= _MOST_FACTOR
    return _each(original, image, brightness_factor) if plain and known else None


_MOST_FACTOR = 1e6


def _adjusting(name: str, least: float, most: float) -> Callable[..., Any]:
    """adjust_saturation_image and its like, which get one factor."""

    def adjust(original: Any, image: Any, *factor: Any, **named: Any) -> Any:
        plan, given = _waiting(image), (*factor, *named.values())
        if plan is None or len(given) != 1 or not _numbers(*given) or not least <= given[0] <= most:
            return None
        if plan.shape[0] == 1 and name != "torch_contrast":
            return image
        return _made(plan, lambda sample: original(sample, *given), name, *given)

    return adjust


def _grayscale(original: Any, image: Any, num_output_channels: Any = 1) -> Any:
    plan, count = _waiting(image), num_output_channels
    if plan is None or plan.shape[0] != 3 or type(count) is not int or count not in (1, 3):
        return None
    return _made(plan, lambda sample: original(sample, count), "torch_grayscale", count, bands=count)


def _channels(original: Any, image: Any, permutation: Any) -> Any:
    plan = _waiting(image)
    order = permutation.tolist() if type(permutation) is torch.Tensor else permutation
    if plan is None or plan.shape[0] != 3 or type(order) is not list or sorted(order) != [0, 1, 2]:
        return None
    return _made(plan, lambda sample: original(sample, order), "torch_channels", order)


def _blur(original: Any, image: Any, kernel_size: Any, sigma: Any = None) -> Any:
    plan = _waiting(image)
    recipe = None if plan is None else _picture(plan)
    if plan is None or recipe is None or plan.look.cut:
        return None
    op = blurs.op_of(recipe, "v2", kernel_size, sigma, plan.look.steps)
    return None if op is None else _made(plan, lambda sample: original(sample, [3, 3], [1.0, 1.0]), *op)


def _posterize(original: Any, image: Any, bits: Any) -> Any:
    return _each(original, image, bits) if _waiting(image) is not None and type(bits) is int and 0 <= bits < 8 else None


def _solarize(original: Any, image: Any, threshold: Any) -> Any:
    plain = _waiting(image) is not None and _numbers(threshold) and threshold <= 255
    return _each(original, image, threshold) if plain else None


def _invert(original: Any, image: Any) -> Any:
    return _each(original, image) if _waiting(image) is not None else None


def _to_dtype(original: Any, image: Any, dtype: Any = torch.float, scale: Any = False) -> Any:
    plan = _waiting(image)
    plain = plan is not None and type(dtype) is torch.dtype and dtype != plan.dtype and type(scale) is bool
    return _each(original, image, dtype, scale) if plain else None


def _normalize(original: Any, image: Any, mean: Any, std: Any, inplace: Any = False) -> Any:
    plan = image.cell.plan if type(image) is Later else None
    plain = plan is not None and plan.dtype.is_floating_point and inplace is False
    lists = all(type(each) in (list, tuple) and _numbers(*each) for each in (mean, std))
    return _each(original, image, tuple(mean), tuple(std)) if plain and lists and all(std) else None


def _to_picture(original: Any, pic: Any, mode: Any = None) -> Any:
    plan = _waiting(pic)
    recipe = None if plan is None else _picture(plan)
    if recipe is None or mode not in (None, recipe.mode):
        return None
    original(torch.zeros(recipe.bands, 1, 1, dtype=torch.uint8), mode)  # which says what it has to say of the mode
    return bare(None, recipe)


def standing(record: Callable[..., Any]) -> Callable[..., Any]:
    """What is called in place of a function: as it is called, and it itself where nothing is recorded."""

    def stand(original: Any, *args: Any, **named: Any) -> Any:
        later = None
        if recording() is not None and args:
            try:
                later = record(original, *args, **named)
            except TypeError:  # called in a way that is not known here, or wrong
                pass
        return original(*args, **named) if later is None else later

    return stand


_OURS: dict[str, dict[str, Callable[..., Any]]] = {
    _GEOMETRY: {"resize_image": _resize, "_pad_with_scalar_fill": _pad, "_pad_with_vector_fill": _pad_in_colour},
    _COLOR: {
        "adjust_brightness_image": _brightness,
        "adjust_saturation_image": _adjusting("torch_saturation", 0, _MOST_FACTOR),
        "adjust_contrast_image": _adjusting("torch_contrast", 0, _MOST_FACTOR),
        "adjust_hue_image": _adjusting("torch_hue", -0.5, 0.5),
        "rgb_to_grayscale_image": _grayscale,
        "permute_channels_image": _channels,
        "posterize_image": _posterize,
        "solarize_image": _solarize,
        "invert_image": _invert,
    },
    _MISC: {"to_dtype_image": _to_dtype, "normalize_image": _normalize, "gaussian_blur_image": _blur},
}


def imported() -> bool:
    """Whether the program has torchvision's v2."""
    return all(name in sys.modules and "__file__" in vars(sys.modules[name]) for name in _OURS)


def install() -> None:
    """Put it in place in this process."""
    for name, functions in _OURS.items():
        for function, ours in functions.items():
            if hasattr(sys.modules[name], function):
                replace(sys.modules[name], function, standing(ours))
    replace(sys.modules["torchvision.transforms.functional"], "to_pil_image", standing(_to_picture))
    if hasattr(sys.modules[_MISC], "_gaussian_blur_image_pil"):
        replace(sys.modules[_MISC], "_gaussian_blur_image_pil", blurs.of_picture("v2"))


#: These multiply and add with one rounding, or with two: few pixels tell, so where one of them differs none is trusted.
FUSED = {"torch_saturation", "torch_contrast", "torch_grayscale"}


# Making: by torchvision itself.


def by_torch(name: str, tensor: torch.Tensor, *arguments: Any) -> torch.Tensor:
    """What torchvision makes of a tensor of bytes by an operation that was recorded."""
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



def _maker(name: str) -> Callable[..., Any]:
    def make(image: Any, *arguments: Any) -> Any:
        from PIL import Image

        made = by_torch(name, pixels(image.im), *arguments)
        return Image.fromarray(made[0].numpy() if len(made) == 1 else made.permute(1, 2, 0).contiguous().numpy())

    return make


NAMES = (
    "torch_bilinear", "torch_bicubic", "torch_saturation", "torch_contrast", "torch_hue", "torch_grayscale", "torch_channels",
)  # fmt: skip
pictures.MAKERS.update({name: _maker(name) for name in NAMES})
