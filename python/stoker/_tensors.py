"""Tensors that are made later, of pictures that are made later.

A `Later` is a tensor without storage, which knows its shape and type. What torchvision and torch's default collate
ask of such tensors elementwise is kept and done with the pixels; any other operation gets the real tensor, made there
and then, and so does anything that asks for memory, NumPy, a copy or a pickle. Once made, a tensor keeps its value: views
and writes go there.
"""

from __future__ import annotations

import functools
import math
import weakref
from multiprocessing.reduction import ForkingPickler
from typing import Any, NamedTuple

import torch
from torch.multiprocessing import reductions

from . import _share
from ._pictures import BANDS, Recipe, Recording, bare, deferred, recording, replace

_aten = torch.ops.aten
_IN_PLACE = {_aten.add_.Tensor, _aten.sub_.Tensor, _aten.mul_.Tensor, _aten.div_.Tensor}
_ARITHMETIC = {_aten.add.Tensor, _aten.sub.Tensor, _aten.mul.Tensor, _aten.div.Tensor}
_AXES = {(-1,): 0, (2,): 0, (-2,): 1, (1,): 1}  # of a flip, and Pillow's number of it
_DTYPES = {torch.uint8, torch.float16, torch.bfloat16, torch.float32, torch.float64}

# What can be asked of a Later without making it: its looks, and what goes through __torch_dispatch__.
_KNOWN = set(
    "shape dtype ndim device layout requires_grad is_leaf grad_fn names is_sparse is_nested is_quantized is_cuda is_cpu is_mps is_meta"
    " size dim stride numel nelement is_floating_point is_complex is_contiguous element_size type get_device"
    " clone detach to float half bfloat16 double contiguous add sub mul div add_ sub_ mul_ div_ flip".split()
)
VALUES = "the values of a tensor"  # what may be asked for
_OWN = {"cell", "real", "made", "face", "as_subclass", "requires_grad_", "__class__", "__dict__", "__reduce_ex__", "__torch_function__", "__torch_dispatch__", "_use_count"}


class Call:
    """An operation of torch's on a tensor, and what came with it. Two that are alike are mostly the same object."""

    __slots__ = ("func", "rest", "kwargs")

    def __init__(self, func: Any, rest: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.func, self.rest, self.kwargs = func, rest, kwargs

    def __call__(self, value: torch.Tensor) -> torch.Tensor:
        return self.func(value, *self.rest, **self.kwargs)


_calls: dict[Any, Call] = {}


def call_of(func: Any, rest: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """A call with what came with it as it is now."""
    marks = ((a.dtype, a.shape, a.numpy().tobytes()) if isinstance(a, torch.Tensor) and a.dtype != torch.bfloat16 else (type(a), a, isinstance(a, float) and math.copysign(1, a)) for a in rest)
    key = (func, *marks, *kwargs.items())
    found = _calls.get(key)
    if found is None:
        if len(_calls) >= 256:
            _calls.clear()
        found = _calls[key] = Call(func, tuple(a.clone() if isinstance(a, torch.Tensor) else a for a in rest), kwargs)
    return found


def set_item(value: torch.Tensor, key: Any, new: Any) -> torch.Tensor:
    """value[key] = new, as a Call."""
    value[key] = new
    return value


class Plan(NamedTuple):
    """How a tensor is made: of a picture, with calls then; or as a stack of plans and tensors. Never changes."""

    recipe: Recipe | None
    parts: tuple[Plan | torch.Tensor, ...]  # of a stack, which has no calls: it may as well be made then
    calls: tuple[Call, ...]
    shape: tuple[int, ...]
    dtype: torch.dtype
    rows: bool  # of a picture: in memory row by row, bands interleaved; else contiguous

    def strides(self) -> tuple[int, ...]:
        if self.rows:
            channels, _, columns = self.shape
            return (1, columns * channels, channels)
        return tuple(math.prod(self.shape[i + 1 :]) for i in range(len(self.shape)))

    def then(self, *calls: Call) -> Plan | None:
        """With further calls, which are elementwise; None where it has to be seen what comes of one."""
        looks: tuple[torch.dtype, bool] | None = None if self.parts else (self.dtype, self.rows)
        for call in calls:
            looks = looks and _looks(self.shape[0], *looks, call)
        return None if looks is None else Plan(self.recipe, self.parts, (*self.calls, *calls), self.shape, *looks)

    def flipped(self, call: Call) -> Plan | None:
        """As torch's flip; what is done to each value may as well be done after it."""
        axis, part_set = _AXES.get(call.rest[0]), any(call.func is set_item for call in self.calls)
        looks = None if self.parts or axis is None or part_set else _looks(self.shape[0], self.dtype, self.rows, call)
        if looks != (self.dtype, self.rows):
            return None
        assert self.recipe is not None
        return self._replace(recipe=self.recipe.transpose(axis))

    def set(self, key: Any, new: Any) -> Plan | None:
        """With values put into a part of it."""
        if self.parts:
            return None
        try:
            part = torch.empty(()).expand(self.shape)[key].shape
            fits = not isinstance(new, torch.Tensor) or torch.broadcast_shapes(part, new.shape) == part
        except (RuntimeError, IndexError, ValueError):
            return None  # to be raised by the real one
        return self._replace(calls=(*self.calls, Call(set_item, (key, new), {}))) if fits else None


_seen: dict[Any, Any] = {}  # by call, which is kept alive here


def _looks(channels: int, dtype: torch.dtype, rows: bool, call: Call) -> tuple[torch.dtype, bool] | None:
    """Type and layout of what an elementwise call gives: tried with a small tensor, once."""
    key = (channels, dtype, rows, call)
    if key not in _seen:
        if len(_seen) >= 1024:
            _seen.clear()
        small = torch.zeros((2, 3, channels), dtype=dtype).permute(2, 0, 1)
        small = small if rows else small.contiguous()
        try:
            after = call(small)
        except (RuntimeError, TypeError):
            after = None  # to be raised by the real one
        if after is None or after.shape != small.shape:
            _seen[key] = None
        elif after.stride() == (1, 3 * channels, channels):
            _seen[key] = after.dtype, True
        else:
            _seen[key] = (after.dtype, False) if after.stride() == (6, 3, 1) else None
    return _seen[key]


class Cell:
    """What a Later and its aliases share: the plan, then the value."""

    __slots__ = ("plan", "value")

    def __init__(self, plan: Plan) -> None:
        self.plan: Plan | None = plan
        self.value: torch.Tensor | None = None


class Later(torch.Tensor):
    """A tensor whose memory does not exist yet."""

    cell: Cell
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, cell: Cell) -> Later:
        plan = cell.plan
        assert plan is not None
        tensor = torch.Tensor._make_wrapper_subclass(cls, plan.shape, strides=plan.strides(), dtype=plan.dtype)
        tensor.cell = cell
        if found := recording():
            found.tensors.append(weakref.ref(tensor))
        return tensor

    def real(self) -> torch.Tensor:
        """The value, made where it is not there yet."""
        return self.made()

    def as_subclass(self, cls: type) -> Any:
        kind = _kinds.get(cls) if self.cell.value is None else None
        return self.real().as_subclass(cls) if kind is None else kind(self.cell)

    def requires_grad_(self, wanted: bool = True) -> torch.Tensor:
        return self.real().requires_grad_(wanted) if wanted or self.cell.value is not None else self

    def made(self) -> torch.Tensor:
        """The value as a plain tensor."""
        cell = self.cell
        if cell.value is None:
            from ._making import make

            if recording():
                Recording.needed(VALUES)
            beside = _beside(cell)
            alone = not beside and cell.plan is not None and not cell.plan.parts
            make([cell, *beside], _share.PART if alone else _share.WHOLE)
        assert cell.value is not None
        return cell.value

    def __getattribute__(self, name: str) -> Any:
        if name in _OWN or name in _KNOWN and self.cell.value is None:
            return super().__getattribute__(name)
        return getattr(self.real(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OWN:
            super().__setattr__(name, value)
        else:
            setattr(self.real(), name, value)

    def __setitem__(self, key: Any, value: Any) -> None:
        cell = self.cell
        keys = key if type(key) is tuple else (key,)
        plain = all(k is Ellipsis or type(k) is int or type(k) is slice and all(s is None or type(s) is int for s in (k.start, k.stop, k.step)) for k in keys)
        plan = cell.plan.set(key, _kept(value)) if cell.plan and plain and _constant(value) else None
        if plan is None:
            self.real()[key] = _real(value)
        else:
            cell.plan = plan

    def __repr__(self, **kwargs: Any) -> str:
        return self.real().__repr__(**kwargs)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.real().__reduce_ex__(protocol)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        later = args[0] if args else None
        if isinstance(later, Later) and later.cell.value is None:
            made = _recorded(later, func, args, kwargs)
        else:
            made = _stacked(args[0]) if func is _aten.stack.default and not kwargs and args[1:] in ((), (0,)) else None
        return func(*_real(args), **_real(kwargs)) if made is None else made


def _beside(cell: Cell) -> list[Cell]:
    """What is made together with it: all pictures that wait, where the program goes through some that it has read before."""
    found, plan = recording(), cell.plan
    if found is None or plan is None or plan.recipe is None:
        return []
    if plan.recipe.source is found.newest:
        found.tally.single += 1
        return []
    laters = [later for later in (seen() for seen in found.tensors) if later is not None]
    return [later.cell for later in laters if later.cell.plan is not None and later.cell.plan.recipe is not None]


def _recorded(later: Later, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """What a call that is known gives; None: it needs the real tensor."""
    plan, rest = later.cell.plan, args[1:]
    assert plan is not None
    if func is _aten.detach.default or func is _aten.alias.default:
        return type(later)(later.cell)
    if func is _aten.flip.default:
        after = plan.flipped(call_of(func, (tuple(rest[0]),), {}))
    elif func in _IN_PLACE or func in _ARITHMETIC:
        fits = not kwargs and len(rest) == 1 and _constant(rest[0]) and _elementwise(rest[0])
        after = plan.then(call_of(func, rest, {})) if fits else None
    elif func is _aten.clone.default or func is _aten._to_copy.default:
        after = plan.then(call_of(func, (), kwargs)) if not rest and _copies(kwargs) else None
    else:
        after = None
    if after is None:
        return None
    if func in _IN_PLACE:
        later.cell.plan = after
        return later
    return Later(Cell(after))


def _copies(kwargs: dict[str, Any]) -> bool:
    """Whether a copy is made here, of a type that is known."""
    elsewhere = kwargs.get("device") not in (None, torch.device("cpu")) or kwargs.get("layout") not in (None, torch.strided) or kwargs.get("pin_memory")
    known = kwargs.keys() <= {"dtype", "memory_format", "non_blocking", "device", "layout", "pin_memory"}
    return known and not elsewhere and kwargs.get("dtype") in (None, *_DTYPES)


def _elementwise(constant: Any) -> bool:
    """Whether a number, or one for each band."""
    if not isinstance(constant, torch.Tensor) or constant.ndim == 0:
        return True
    return constant.ndim <= 3 and constant.shape[-2:].numel() == 1


def _kept(value: Any) -> Any:
    """As it is now."""
    return value.clone() if isinstance(value, torch.Tensor) else value


def _constant(value: Any) -> bool:
    """A number, or a real tensor that nothing else can mean."""
    if isinstance(value, torch.Tensor):
        return type(value) is torch.Tensor and value.device.type == "cpu" and value.layout is torch.strided and not value.requires_grad
    return type(value) in (int, float)


def _stacked(tensors: Any) -> Later | None:
    """A stack of tensors of which some are to be made later."""
    tensors = [t if isinstance(t, Later) or type(t) not in _kinds else t.as_subclass(torch.Tensor) for t in tensors]
    looks = {(tuple(t.shape), t.dtype) for t in tensors}
    waiting = any(isinstance(t, Later) and t.cell.value is None for t in tensors)
    if len(looks) != 1 or not waiting or not all(isinstance(t, Later) or _constant(t) for t in tensors):
        return None
    parts: list[Plan | torch.Tensor] = []
    for tensor in tensors:
        plan = tensor.cell.plan if isinstance(tensor, Later) else None
        parts.append(_real(tensor).clone() if plan is None else plan)
    ((shape, dtype),) = looks
    return Later(Cell(Plan(None, tuple(parts), (), (len(parts), *shape), dtype, False)))


def _real(value: Any) -> Any:
    if isinstance(value, Later):
        return value.made()
    if isinstance(value, (list, tuple)):
        return type(value)(map(_real, value)) if not hasattr(value, "_fields") else value
    return {key: _real(item) for key, item in value.items()} if isinstance(value, dict) else value


_kinds: dict[type, type[Later]] = {torch.Tensor: Later, Later: Later}  # which class stands for which


def _install_images(tv_tensors: Any) -> None:
    """Have torchvision's own class of tensors stood for as well, whose functions give plain tensors but for a few."""
    Image = tv_tensors.Image
    if not hasattr(Image, "wrap") or not hasattr(Image, "_wrap_output"):
        return

    class LaterImage(Later, Image):
        face: Any = None
        __torch_function__ = classmethod(Image.__torch_function__.__func__)

        def real(self) -> Any:
            if self.face is None:
                self.face = self.made().as_subclass(Image)
            return self.face

        @classmethod
        def _wrap_output(cls, output: Any, args: Any = (), kwargs: Any = None) -> Any:
            return Image._wrap_output(output, args, kwargs)

        @classmethod
        def wrap(cls, tensor: Any, like: Any, **kwargs: Any) -> Any:
            return Image.wrap(tensor, like, **kwargs)

    _kinds[Image] = _kinds[LaterImage] = LaterImage


def _plan_of(image: Any, rows: bool) -> Plan | None:
    """The uint8 tensor (channel, row, column) of a picture that is not made; None where it is."""
    recipe = deferred(image, BANDS)
    if recipe is None:
        return None
    (width, height), bands = recipe.size, recipe.bands
    return Plan(recipe.copy(), (), (), (bands, height, width), torch.uint8, rows)


# Putting it in place.


def _to_tensor(original: Any, pic: Any) -> Any:
    plan = _plan_of(pic, rows=False)
    if plan is None:
        return original(pic)
    after = plan.then(*_scalers(torch.get_default_dtype()))
    return original(pic) if after is None else Later(Cell(after))


@functools.lru_cache(64)
def _scalers(dtype: torch.dtype) -> list[Call]:
    """The calls of F.to_tensor."""
    return [call_of(_aten._to_copy.default, (), {"dtype": dtype}), call_of(_aten.div.Tensor, (255,), {})]


def _pil_to_tensor(original: Any, pic: Any) -> Any:
    plan = _plan_of(pic, rows=True)
    return original(pic) if plan is None else Later(Cell(plan))


def _normalize(original: Any, tensor: Any, mean: Any, std: Any, inplace: Any = False) -> Any:
    """As it is written there, without torch's way from call to call."""
    plan = tensor.cell.plan if type(tensor) is Later else None
    lists = all(type(numbers) in (list, tuple) and all(type(n) in (int, float) for n in numbers) for numbers in (mean, std))
    if plan is None or inplace or not lists or not plan.dtype.is_floating_point or 0 in std:
        return original(tensor, mean, std, inplace)
    calls = _normalizers(plan.dtype, tuple(mean), tuple(std))
    after = plan.then(*calls) if calls else None
    return original(tensor, mean, std, inplace) if after is None else Later(Cell(after))


@functools.lru_cache(64)
def _normalizers(dtype: torch.dtype, mean: tuple[float, ...], std: tuple[float, ...]) -> list[Call]:
    """The calls of F.normalize; none where it raises."""
    numbers = [torch.as_tensor(each, dtype=dtype).view(-1, 1, 1) for each in (mean, std)]
    if (numbers[1] == 0).any():
        return []
    return [call_of(func, (each,), {}) for func, each in zip((_aten.sub_.Tensor, _aten.div_.Tensor), numbers)]


def _grayscale(original: Any, img: Any, num_output_channels: Any) -> Any:
    recipe = deferred(img)
    if recipe is None or num_output_channels != 3 or type(num_output_channels) is not int:
        return original(img, num_output_channels)
    if recipe.mode == "RGB":
        recipe = recipe.then("convert", "L", mode="L")
    return bare(img, recipe.then("convert", "RGB", mode="RGB"))


def _pad(original: Any, img: Any, padding: Any, fill: Any = 0, padding_mode: Any = "constant") -> Any:
    recipe = deferred(img)
    sides = padding if type(padding) in (tuple, list) else (padding,)
    if recipe is None or padding_mode not in _PADS or len(sides) not in (1, 2, 4) or not all(type(side) is int and side >= 0 for side in sides):
        return original(img, padding, fill, padding_mode)
    left, top, right, bottom = (*sides, *sides, *sides, *sides)[:4]
    (width, height), inner = recipe.size, _PADS[padding_mode]
    if max(left, right) > width - inner or max(top, bottom) > height - inner or not any(sides):  # around and around
        return original(img, padding, fill, padding_mode)
    return bare(img, recipe.then("pad", padding_mode, left, top, right, bottom, size=(width + left + right, height + top + bottom)))


_PADS = {"edge": -(1 << 16), "reflect": 1, "symmetric": 0}  # what a side must have more than is put beside it


def _hue(original: Any, img: Any, hue_factor: Any) -> Any:
    import numpy as np

    recipe = deferred(img)
    if recipe is None or recipe.mode != "RGB" or type(hue_factor) not in (int, float) or not -0.5 <= hue_factor <= 0.5:
        return original(img, hue_factor)
    return bare(img, recipe.then("hue", int(np.int32(hue_factor * 255).astype(np.uint8))))


def _collate_in_place_of(original: Any) -> Any:
    def collate(batch: Any, *, collate_fn_map: Any = None) -> Any:
        if not any(isinstance(item, Later) for item in batch):
            return original(batch, collate_fn_map=collate_fn_map)
        later = _stacked(batch)
        return original([item.real() if isinstance(item, Later) else item for item in batch], collate_fn_map=collate_fn_map) if later is None else later

    return collate


_done: set[str] = set()


def install(modules: Any) -> None:
    """Put it in place in this process, as far as what it is for has been imported; again and again."""
    if "torch" not in _done:
        _done.add("torch")
        from torch.utils.data._utils import collate

        ForkingPickler.register(Later, lambda later: reductions.reduce_tensor(later.real()))
        kinds = collate.default_collate_fn_map
        kinds[Later] = kinds[torch.Tensor] = _collate_in_place_of(kinds[torch.Tensor])
    tv_tensors = modules.get("torchvision.tv_tensors")
    if tv_tensors is not None and "images" not in _done:
        _done.add("images")
        _install_images(tv_tensors)
    functional = modules.get("torchvision.transforms.functional")
    if functional is not None and "torchvision" not in _done:
        _done.add("torchvision")
        replace(functional, "to_tensor", _to_tensor)
        replace(functional, "pil_to_tensor", _pil_to_tensor)
        replace(functional, "normalize", _normalize)
        replace(functional.F_pil, "to_grayscale", _grayscale)
        replace(functional.F_pil, "adjust_hue", _hue)
        replace(functional.F_pil, "pad", _pad)
