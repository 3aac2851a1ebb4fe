"""Translates torchvision's transforms to the daemon's operations.

A transform is translated as a whole, and only if the result is the same. Classes are compared by
identity: a subclass may do anything.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import torch
    from torchvision.transforms import transforms as T
    from torchvision.transforms import v2 as T2

# The form of a sample between two transforms.
PIL = "a PIL image"
BYTES = "a uint8 tensor"
IMAGE = "a uint8 Image of v2"
FLOATS = "a float32 tensor"


class Refused(Exception):
    """Says why the daemon cannot do something, as a whole sentence."""


class Translation(NamedTuple):
    """Operations for the daemon, and notes for the user."""

    ops: list[dict[str, Any]]
    notes: list[str]


class _Untranslated(Exception):
    """Says why, with the transform as its subject."""


@dataclass
class _State:
    form: str = PIL
    pixels: list[dict[str, Any]] = field(default_factory=list)
    numbers: list[dict[str, Any]] = field(default_factory=list)  # operations on numbers, after those on pixels
    fixed: bool = False  # whether all images have the same size
    resized_tensor: bool = False


def translate(transform: Callable[[Any], Any] | None) -> Translation:
    """Translate a transform. Raises Refused if a part of it is unknown."""
    state = _State()
    for step in _flatten(transform):
        try:
            _translate_step(step, state)
        except _Untranslated as error:
            raise Refused(f"{_name_of(step)} {error}") from None
        except (AttributeError, TypeError, ValueError) as error:  # settings of an unknown kind
            raise Refused(f"{_name_of(step)} has settings that are not understood ({error})") from None
    if not state.fixed:
        raise Refused("without a crop or a resize to [height, width] the images have different sizes")
    if state.form == PIL:
        raise Refused("the transform ends in PIL images")
    tensor = [{"op": "to_tensor" if state.form == FLOATS else "pil_to_tensor"}]
    notes = []
    if state.resized_tensor:
        notes.append(
            "images are resized as Pillow does it, torchvision's resize of tensors differs by at most 1 of 255"
        )
    return Translation(state.pixels + tensor + state.numbers, notes)


def _flatten(transform: Callable[[Any], Any] | None) -> Sequence[Any]:
    """Return the transforms in order, with nested Composes flattened."""
    kinds = _kinds()
    if type(transform) in kinds.containers:
        parts = transform.transforms if hasattr(transform, "transforms") else transform
        return [step for part in parts for step in _flatten(part)]
    return [] if transform is None else [transform]


def _name_of(step: object) -> str:
    return getattr(type(step), "__name__", str(step)) if not hasattr(step, "__name__") else step.__name__


def _translate_step(step: Callable[[Any], Any], state: _State) -> None:
    handler = _kinds().handlers.get(type(step))
    if handler is None:
        raise _Untranslated("is not known to stoker")
    if _is_changed(step):
        raise _Untranslated("has a method of the program's own")
    handler(step, state)


def _is_changed(step: object) -> bool:
    """Whether a method of a transform or its class was replaced."""
    inside = os.path.dirname(sys.modules["torchvision"].__file__ or "") + os.sep
    own = vars(step)
    if own.get("_forward_hooks") or own.get("_forward_pre_hooks"):
        return True
    for kind in type(step).__mro__:
        if kind.__module__.startswith("torchvision."):
            for name, function in vars(kind).items():
                code = getattr(getattr(function, "__func__", function), "__code__", None)
                if code is not None and (name in own or not code.co_filename.startswith(inside)):
                    return True
    return False


# One function per transform. Each checks everything that changes the result.


def _require_pixels(state: _State) -> None:
    if state.form == FLOATS:
        raise _Untranslated("comes behind the conversion to floats: put it in front")


def _resize(step: T.Resize, state: _State) -> None:
    _require_pixels(state)
    size = _read_size(step.size)
    op: dict[str, Any] = {"op": "resize", "size": size, "filter": _read_filter(step, state)}
    if step.max_size is not None:
        if len(size) == 2 or step.max_size <= size[0]:
            raise _Untranslated(f"has max_size {step.max_size} with size {size}")
        op["max_size"] = int(step.max_size)
    state.pixels.append(op)
    state.fixed = state.fixed or len(size) == 2


def _center_crop(step: T.CenterCrop, state: _State) -> None:
    _require_pixels(state)
    state.pixels.append({"op": "center_crop", "size": _read_square(step.size)})
    state.fixed = True


def _random_resized_crop(step: T.RandomResizedCrop, state: _State) -> None:
    _require_pixels(state)
    scale, ratio = _read_range(step.scale), _read_range(step.ratio)
    state.pixels.append(
        {
            "op": "random_resized_crop",
            "size": _read_square(step.size),
            "scale": scale,
            "ratio": ratio,
            "filter": _read_filter(step, state),
        }
    )
    state.fixed = True


def _random_crop(step: T.RandomCrop, state: _State) -> None:
    _require_pixels(state)
    op: dict[str, Any] = {"op": "random_crop", "size": _read_square(step.size)}
    padding = _read_padding(step)
    if (any(padding) or step.pad_if_needed) and step.padding_mode != "constant":
        raise _Untranslated(f"has padding_mode {step.padding_mode!r}")
    if any(padding):
        op["padding"] = padding
    if step.pad_if_needed:
        op["pad_if_needed"] = True
    fill = _read_fill(step.fill)
    if any(fill):
        op["fill"] = fill
    state.pixels.append(op)
    state.fixed = True


def _read_padding(step: T.RandomCrop) -> list[int]:
    """Return left, top, right and bottom."""
    padding = step.padding
    if padding is None:
        return [0, 0, 0, 0]
    values = [padding] if isinstance(padding, int) else list(padding)
    if not all(isinstance(value, int) and value >= 0 for value in values) or len(values) not in (1, 2, 4):
        raise _Untranslated(f"has padding {padding}")
    if len(values) == 4 and type(step).__module__.startswith("torchvision.transforms.v2"):
        left, right, top, bottom = values  # the order in v2
        return [left, top, right, bottom]
    return values * 4 if len(values) == 1 else values * (4 // len(values))


def _read_fill(fill: float | Sequence[float] | None) -> list[float]:
    values = [fill] if isinstance(fill, (int, float)) else list(fill) if isinstance(fill, (list, tuple)) else None
    if fill is None:
        values = [0]
    if (
        values is None
        or len(values) not in (1, 3)
        or not all(isinstance(v, (int, float)) and v == int(v) and 0 <= v <= 255 for v in values)
    ):
        raise _Untranslated(f"has fill {fill}")
    return [int(value) for value in values]


def _flip(name: str) -> Callable[[Any, _State], None]:
    def flip(step: T.RandomHorizontalFlip | T.RandomVerticalFlip, state: _State) -> None:
        # After to_tensor and normalize, the result is the same as before them.
        state.pixels.append({"op": name, "p": float(step.p)})

    return flip


def _pil_to_tensor(step: T.PILToTensor, state: _State) -> None:
    _require_pil(state)
    state.form = BYTES


def _to_tensor(step: T.ToTensor, state: _State) -> None:
    _require_pil(state)
    state.form = FLOATS


def _require_pil(state: _State) -> None:
    if state.form != PIL:
        raise _Untranslated(f"is applied to {state.form}")


def _to_image(step: T2.ToImage, state: _State) -> None:
    if state.form == FLOATS:
        raise _Untranslated(f"is applied to {state.form}")
    state.form = IMAGE


def _to_pure_tensor(step: T2.ToPureTensor, state: _State) -> None:
    if state.form == IMAGE:
        state.form = BYTES


def _convert(step: T.ConvertImageDtype, state: _State) -> None:
    _to_dtype(step.dtype, True, state)


def _to_dtype_v2(step: T2.ToDtype, state: _State) -> None:
    dtype = step.dtype
    if isinstance(dtype, dict):
        kind = sys.modules["torchvision.tv_tensors"].Image if state.form == IMAGE else _torch().Tensor
        if kind not in dtype and "others" not in dtype:
            raise _Untranslated(f"says nothing of {state.form}")
        dtype = dtype.get(kind, dtype.get("others"))
        if dtype is None:
            return
    _to_dtype(dtype, step.scale, state)


def _to_dtype(dtype: torch.dtype, scale: bool, state: _State) -> None:
    torch = _torch()
    if state.form == PIL:
        raise _Untranslated(f"is applied to {state.form}")
    if dtype == (torch.float32 if state.form == FLOATS else torch.uint8):
        return
    if state.form == FLOATS or dtype != torch.float32:
        raise _Untranslated(f"converts to {dtype}: dtype= of the loader does it in the daemon")
    if not scale:
        raise _Untranslated("has scale=False, which leaves floats from 0 to 255")
    state.form = FLOATS


def _normalize(step: T.Normalize, state: _State) -> None:
    if state.form != FLOATS:
        raise _Untranslated(f"is applied to {state.form}")
    if state.numbers:
        raise _Untranslated("is there twice")
    mean, std = ([float(value) for value in values] for values in (step.mean, step.std))
    if len(mean) not in (1, 3) or len(std) not in (1, 3) or not all(std):
        raise _Untranslated(f"has mean {mean} and std {std}")
    state.numbers.append({"op": "normalize", "mean": mean, "std": std})


def _same(step: torch.nn.Identity | T2.Identity, state: _State) -> None:
    pass


def _read_size(size: int | Sequence[int]) -> list[int]:
    values = [size] if isinstance(size, int) else list(size) if isinstance(size, (list, tuple)) else []
    if len(values) not in (1, 2) or not all(isinstance(value, int) and value > 0 for value in values):
        raise _Untranslated(f"has size {size}")
    return values


def _read_square(size: int | Sequence[int]) -> list[int]:
    values = _read_size(size)
    return values * 2 if len(values) == 1 else values


def _read_range(values: Sequence[float]) -> list[float]:
    low, high = (float(value) for value in values)
    if not 0 < low <= high < float("inf"):
        raise _Untranslated(f"has the range {values}")
    return [low, high]


def _read_filter(step: T.Resize | T.RandomResizedCrop, state: _State) -> str:
    name = getattr(step.interpolation, "value", step.interpolation)
    if name not in ("bilinear", "bicubic"):
        raise _Untranslated(f"has interpolation {name}")
    if state.form != PIL:  # Pillow always resizes with antialiasing
        if step.antialias is not True:
            raise _Untranslated("resizes tensors without antialiasing")
        state.resized_tensor = True
    return name


def _torch() -> Any:
    return sys.modules["torch"]


@dataclass
class _Kinds:
    """torchvision's classes. A program with a Compose has imported them."""

    containers: set[type]
    handlers: dict[type, Callable[[Any, _State], None]]


_known: _Kinds | None = None


def _kinds() -> _Kinds:
    global _known
    if _known is None:
        _known = _find_kinds()
    return _known


def _find_kinds() -> _Kinds:
    import torch
    from torchvision.transforms import transforms as v1
    from torchvision.transforms import v2

    handlers = {
        "Resize": _resize,
        "CenterCrop": _center_crop,
        "RandomResizedCrop": _random_resized_crop,
        "RandomCrop": _random_crop,
        "RandomHorizontalFlip": _flip("random_horizontal_flip"),
        "RandomVerticalFlip": _flip("random_vertical_flip"),
        "PILToTensor": _pil_to_tensor,
        "ToTensor": _to_tensor,
        "ToImage": _to_image,
        "ToPureTensor": _to_pure_tensor,
        "ToDtype": _to_dtype_v2,
        "ConvertImageDtype": _convert,
        "Normalize": _normalize,
        "Identity": _same,
    }
    found = {
        getattr(module, name): handler
        for module in (v1, v2)
        for name, handler in handlers.items()
        if hasattr(module, name)
    }
    found[torch.nn.Identity] = _same
    return _Kinds({v1.Compose, v2.Compose, torch.nn.Sequential}, found)
