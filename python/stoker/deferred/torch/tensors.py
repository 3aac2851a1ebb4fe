"""Deferred tensors of deferred pictures.

A `DeferredTensor` has a shape and a dtype, but no storage. Elementwise operations of torchvision
and of torch's default collate are recorded and computed together with the pixels. Any other
operation materializes the tensor at once, as does access to its memory, NumPy, a copy or a pickle.
A materialized tensor keeps its value: later views and writes go to that.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable, Sequence
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

import torch
from torch.multiprocessing import reductions

from ..materialize.dispatch import materializer
from ..recipes import share
from ..recipes.job import compute_table
from ..recipes.pictures import (
    Recipe,
    Recording,
    find_recipe,
    new_image,
    on_uninstall,
    recording,
)
from ..recipes.plan import ITSELF, Call, Cell, Layout, Plan, Steps, make_call, new_plan
from ..recipes.replacements import replace
from . import blurs, masks

if TYPE_CHECKING:
    from types import ModuleType

    from PIL.Image import Image

    from ..recipes.pictures import Colour
    from ..recipes.plan import Key

_aten = torch.ops.aten
_IN_PLACE = {_aten.add_.Tensor, _aten.sub_.Tensor, _aten.mul_.Tensor, _aten.div_.Tensor}
_ARITHMETIC = {_aten.add.Tensor, _aten.sub.Tensor, _aten.mul.Tensor, _aten.div.Tensor}
_COMPARISONS = {_aten.eq.Scalar, _aten.ne.Scalar, _aten.lt.Scalar, _aten.le.Scalar, _aten.gt.Scalar, _aten.ge.Scalar}
_INTEGERS = {torch.uint8, torch.int16, torch.int32, torch.int64}
_DTYPES = {*_INTEGERS, torch.float16, torch.bfloat16, torch.float32, torch.float64}

# What a DeferredTensor answers without materializing: shape and dtype, and what goes through
# __torch_dispatch__.
_ANSWERED = set(
    "shape dtype ndim device layout requires_grad is_leaf grad_fn names is_sparse is_nested is_quantized "
    "is_cuda is_cpu is_mps is_meta"
    " size dim stride numel nelement is_floating_point is_complex is_contiguous element_size type get_device"
    " clone detach to float half bfloat16 double short int long contiguous add sub mul div add_ sub_ mul_ div_ flip permute unsqueeze view".split()
)
VALUES = "the values of a tensor"  # for report_need
_OWN = {
    "cell",
    "materialize",
    "materialize_plain",
    "_image",
    "as_subclass",
    "requires_grad_",
    "__class__",
    "__dict__",
    "__reduce_ex__",
    "__torch_function__",
    "__torch_dispatch__",
    "_use_count",
    "_view",
}


_make_wrapper = torch.Tensor._make_wrapper_subclass
_own, _set_own = object.__getattribute__, object.__setattr__  # bypass DeferredTensor's own methods


class _StandInType(type(torch.Tensor)):  # type: ignore[misc]
    """A class that equals the class it replaces: programs look up tables by class."""

    original_type: type

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is cls.original_type

    def __hash__(cls) -> int:
        return hash(cls.original_type)


class DeferredTensor(torch.Tensor, metaclass=_StandInType):
    """A tensor whose memory does not exist yet."""

    original_type = torch.Tensor
    cell: Cell
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, cell: object = None, *args: Any, **kwargs: Any) -> Any:
        if type(cell) is not Cell:  # the program constructs another tensor of its type
            return cls.original_type(*(() if cell is None else (cell,)), *args, **kwargs)
        plan = cell.plan
        assert plan is not None
        tensor = _make_wrapper(cls, plan.shape, strides=plan.strides(), dtype=plan.dtype)
        _set_own(tensor, "cell", cell)
        if found := recording():
            found.deferred_tensors.append(weakref.ref(tensor))
        return tensor

    def materialize(self) -> torch.Tensor:
        """Return the tensor, computed now if necessary."""
        return self.materialize_plain()

    def as_subclass(self, cls: type) -> Any:
        kind = _kinds.get(cls) if self.cell.value is None else None
        return self.materialize().as_subclass(cls) if kind is None else kind(self.cell)

    def requires_grad_(self, wanted: bool = True) -> torch.Tensor:
        return self.materialize().requires_grad_(wanted) if wanted or self.cell.value is not None else self

    def materialize_plain(self) -> torch.Tensor:
        """Return the value as a plain torch.Tensor."""
        return materialize_cell(self.cell, VALUES)

    def __getattribute__(self, name: str) -> Any:
        if name in _OWN or name in _ANSWERED and _own(self, "cell").value is None:
            return _own(self, name)
        return getattr(self.materialize(), name)

    def __setattr__(self, name: str, value: object) -> None:
        if name in _OWN:
            _set_own(self, name, value)
        else:
            setattr(self.materialize(), name, value)

    def __getitem__(self, key: Key) -> Any:
        keys = key if type(key) is tuple else (key,)
        return self._view(lambda plan: plan.index(keys), lambda value: value[key])

    def permute(self, *dims: Any) -> Any:
        order = tuple(dims[0] if len(dims) == 1 and type(dims[0]) in (tuple, list) else dims)
        return self._view(lambda plan: plan.permute(_count_from_first(order)), lambda value: value.permute(*dims))

    def view(self, *shape: Any) -> Any:
        sides = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        same = tuple(sides) == tuple(self.shape)  # some code makes sure of the shape
        return self._view(lambda plan: plan if same else None, lambda value: value.view(*shape))

    def unsqueeze(self, dim: int) -> Any:
        rank = len(self.shape) + 1
        keys = (*[slice(None)] * (dim % rank), None) if type(dim) is int and -rank <= dim < rank else None
        return self._view(lambda plan: keys and plan.index(keys), lambda value: value.unsqueeze(dim))

    def _view(self, change: Callable[[Plan], Plan | None], view: Callable[[torch.Tensor], torch.Tensor]) -> Any:
        """Return a deferred view if the plan allows it, else a view of the value."""
        cell = self.cell
        if cell.plan is not None and recording() and not _is_wrapping():
            plan = change(cell.plan)
            if plan is not None:
                return DeferredTensor(cell.view(plan, view))
        return view(self.materialize())

    def __setitem__(self, key: Key, value: float | torch.Tensor) -> None:
        cell = self.cell
        if isinstance(key, DeferredTensor) and type(value) in (int, float) and cell.plan and key.cell.plan and recording():
            if cell.change(masks.put_where(cell.plan, key.cell.plan, value)):
                return
        keys = key if type(key) is tuple else (key,)
        plain = all(
            k is Ellipsis
            or type(k) is int
            or type(k) is slice
            and all(s is None or type(s) is int for s in (k.start, k.stop, k.step))
            for k in keys
        )
        plan = cell.plan.write(key, _snapshot(value)) if cell.plan and plain and _is_constant(value) else None
        if not cell.change(plan):
            self.materialize()[_materialize_all(key)] = _materialize_all(value)

    def __repr__(self, **kwargs: Any) -> str:
        return self.materialize().__repr__(**kwargs)

    def __reduce_ex__(self, protocol: int) -> Any:
        return self.materialize().__reduce_ex__(protocol)

    @classmethod
    def __torch_dispatch__(
        cls,
        func: torch._ops.OpOverload,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        tensor = args[0] if args else None
        if isinstance(tensor, DeferredTensor) and tensor.cell.value is None:
            result = _record_call(tensor, func, args, kwargs)
        else:
            result = _record_stack(args[0]) if func is _aten.stack.default and not kwargs and args[1:] in ((), (0,)) else None
        return func(*_materialize_all(args), **_materialize_all(kwargs)) if result is None else result


def _take_name(kind: type[DeferredTensor]) -> None:
    """Give a class the name of the class that it replaces."""
    for name in ("__name__", "__qualname__", "__module__"):
        setattr(kind, name, getattr(kind.original_type, name))


_take_name(DeferredTensor)


def materialize_cell(cell: Cell, what: str, others: Sequence[Cell] = ()) -> Any:
    """Return the value of a cell. If it is not computed yet, others are computed with it."""
    if cell.value is None:
        if recording():
            Recording.report_need(what)
        companions = [*others, *_find_companions(cell)]
        alone = not companions and cell.plan is not None and not cell.plan.parts
        source = None if cell.plan is None or cell.plan.recipe is None else cell.plan.recipe.source
        materializer.materialize([cell, *companions], share.PART if alone else share.WHOLE)
        if source is not None and (found := recording()) and not found.is_gathered:  # Python computes what follows
            share.count_file(source, share.PART)
    assert cell.value is not None
    return cell.value


def _find_companions(cell: Cell) -> list[Cell]:
    """Return the cells to compute together: all deferred ones, if the program goes back to an
    earlier picture."""
    found, plan = recording(), cell.plan
    if found is None or plan is None or plan.recipe is None:
        return []
    if plan.recipe.source is found.newest and not found.is_gathered:
        return []
    tensors = [tensor for tensor in (seen() for seen in found.deferred_tensors) if tensor is not None]
    return [tensor.cell for tensor in tensors if tensor.cell.plan is not None and tensor.cell.plan.recipe is not None]


def _record_call(
    tensor: DeferredTensor, func: torch._ops.OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Return the deferred result of a recorded call, or None if it needs the value."""
    plan, rest = tensor.cell.plan, args[1:]
    assert plan is not None
    if func is _aten.detach.default or func is _aten.alias.default:
        return type(tensor)(tensor.cell)
    if func is _aten.flip.default:
        axes = tuple(rest[0])
        after = plan.flip(make_call(func, (axes,), {}), axes)
    elif func in _IN_PLACE or func in _ARITHMETIC:
        other = ITSELF if len(rest) == 1 and _is_same(tensor, rest[0]) else rest[0] if rest else None
        fits = kwargs.keys() <= {"alpha"} and len(rest) == 1 and (other is ITSELF or _is_per_channel_constant(plan, other))
        after = plan.then(make_call(func, (other,), kwargs)) if fits else _record_addition(plan, func, rest, kwargs)
    elif func is _aten.clone.default or func is _aten._to_copy.default:
        after = plan.then(make_call(func, (), kwargs)) if not rest and _is_plain_copy(kwargs) and _can_hold_values(plan, kwargs) else None
    elif func in _COMPARISONS:
        after = plan.then(make_call(func, rest, {})) if len(rest) == 1 and type(rest[0]) in (int, float) and not kwargs else None
    else:
        after = None
    if after is None:
        return None
    if func in _IN_PLACE:
        return tensor if tensor.cell.change(after) else None
    return DeferredTensor(Cell(after))


def _record_addition(
    plan: Plan, func: torch._ops.OpOverload, rest: tuple[Any, ...], kwargs: dict[str, Any]
) -> Plan | None:
    """Return the plan after adding a tensor of the same shape in place, such as noise; None if it
    does not fit."""
    other = rest[0] if len(rest) == 1 and func in _IN_PLACE and kwargs.keys() <= {"alpha"} else None
    fits = plan.recipe is not None and plan.dtype.is_floating_point and type(other) is torch.Tensor and _is_constant(other)
    if not fits or other.shape != plan.shape or other.dtype != plan.dtype:
        return None
    return plan._replace(tail=(*plan.tail, Call(func, (other.clone(),), kwargs)))


def _is_same(tensor: DeferredTensor, other: object) -> bool:
    """Whether both are the same tensor."""
    return isinstance(other, DeferredTensor) and other.cell is tensor.cell


def _count_from_first(order: tuple[Any, ...]) -> tuple[int, ...]:
    """Return axes counted from the first, or () if one is not an int."""
    return tuple(axis % len(order) for axis in order) if all(type(axis) is int for axis in order) else ()


def _is_plain_copy(kwargs: dict[str, Any]) -> bool:
    """Whether a copy stays on the CPU and has a known dtype."""
    elsewhere = (
        kwargs.get("device") not in (None, torch.device("cpu"))
        or kwargs.get("layout") not in (None, torch.strided)
        or kwargs.get("pin_memory")
    )
    known = kwargs.keys() <= {"dtype", "memory_format", "non_blocking", "device", "layout", "pin_memory"}
    return known and not elsewhere and kwargs.get("dtype") in (None, *_DTYPES)


def _can_hold_values(plan: Plan, kwargs: dict[str, Any]) -> bool:
    """Whether a dtype can hold all values; overflow differs between processors."""
    dtype = kwargs.get("dtype")
    if dtype not in _INTEGERS or not plan.dtype.is_floating_point:
        return True
    if plan.tail or plan.recipe is None or plan.steps is None:
        return False
    values, limits = compute_table(plan.recipe.bands, plan.steps), torch.iinfo(dtype)
    return bool(torch.isfinite(values).all()) and limits.min <= float(values.min()) and float(values.max()) <= limits.max


def _is_per_channel_constant(plan: Plan, constant: float | torch.Tensor) -> bool:
    """Whether an operand is a number, or one number for each band."""
    if not _is_constant(constant):
        return False
    if not isinstance(constant, torch.Tensor) or constant.ndim == 0:
        return True
    return plan.steps is not None and constant.ndim <= len(plan.shape) and is_per_band(plan.layout, constant.shape)


def is_per_band(layout: Layout, shape: Sequence[int]) -> bool:
    """Whether a tensor of this shape has one number for all pixels of a band."""
    return all(side == 1 or axis == "C" for side, axis in zip(reversed(shape), reversed(layout.axes)))


def _snapshot(value: float | torch.Tensor) -> Any:
    """Return a copy that later writes do not change."""
    return value.clone() if isinstance(value, torch.Tensor) else value


def _is_constant(value: object) -> bool:
    """Whether a value is a number, or a plain tensor on the CPU."""
    if isinstance(value, torch.Tensor):
        return (
            type(value) is torch.Tensor
            and value.device.type == "cpu"
            and value.layout is torch.strided
            and not value.requires_grad
        )
    return type(value) in (int, float)


def _record_stack(tensors: Sequence[torch.Tensor]) -> DeferredTensor | None:
    """Return a deferred stack if some of the tensors are deferred."""
    tensors = [t if isinstance(t, DeferredTensor) or type(t) not in _kinds else t.as_subclass(torch.Tensor) for t in tensors]
    plans = [_own(t, "cell").plan if isinstance(t, DeferredTensor) else None for t in tensors]
    kinds = {(tuple(t.shape), t.dtype) if plan is None else (plan.shape, plan.dtype) for t, plan in zip(tensors, plans)}
    if len(kinds) != 1 or not any(plan is not None for plan in plans) or not all(isinstance(t, DeferredTensor) or _is_constant(t) for t in tensors):
        return None
    ((shape, dtype),) = kinds
    return DeferredTensor(Cell(make_stack([_materialize_all(t).clone() if plan is None else plan for t, plan in zip(tensors, plans)], shape, dtype)))


def make_stack(parts: list[Plan | torch.Tensor], shape: tuple[int, ...], dtype: torch.dtype) -> Plan:
    """Return the plan of a stack."""
    return Plan(None, tuple(parts), None, (), (len(parts), *shape), dtype, (0, 0, 0))


def _materialize_all(value: object) -> Any:
    if isinstance(value, DeferredTensor):
        return value.materialize_plain()
    if isinstance(value, (list, tuple)):
        return type(value)(map(_materialize_all, value)) if not hasattr(value, "_fields") else value
    return {key: _materialize_all(item) for key, item in value.items()} if isinstance(value, dict) else value


def _is_wrapping() -> bool:
    """Whether torchvision's tensor classes currently wrap results, which deferred views cannot do."""
    helpers = sys.modules.get("torchvision.tv_tensors._torch_function_helpers")
    return helpers is not None and getattr(helpers, "_TORCHFUNCTION_SUBCLASS", True)


_kinds: dict[type, type[DeferredTensor]] = {torch.Tensor: DeferredTensor}  # the deferred class for each


def _define_deferred_image(tv_tensors: ModuleType) -> None:
    """Define a class that replaces torchvision's Image. Most of Image's functions return plain
    tensors."""
    Image = tv_tensors.Image
    if not hasattr(Image, "_wrap_output"):
        return

    class DeferredImage(DeferredTensor, Image):
        original_type = Image
        _image: Any = None
        __torch_function__ = classmethod(Image.__torch_function__.__func__)

        def materialize(self) -> Any:
            if self._image is None:
                self._image = self.materialize_plain().as_subclass(Image)
            return self._image

        @classmethod
        def _wrap_output(
            cls, output: torch.Tensor, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            return Image._wrap_output(output, args, kwargs)

        @classmethod
        def wrap(cls, tensor: torch.Tensor, like: torch.Tensor, **kwargs: Any) -> Any:
            return Image.wrap(tensor, like, **kwargs)

    _take_name(DeferredImage)
    _kinds[Image] = DeferredImage


def _patch_wrap(tv_tensors: ModuleType) -> None:
    """Make `wrap` return torchvision's class for a deferred image; newer versions do so themselves."""
    Image, before = tv_tensors.Image, tv_tensors.wrap

    def wrap(wrappee: torch.Tensor, *, like: torch.Tensor, **kwargs: Any) -> Any:
        replaced = isinstance(like, DeferredTensor) and type(like).original_type is Image
        return wrappee.as_subclass(Image) if replaced else before(wrappee, like=like, **kwargs)

    if not hasattr(Image, "wrap"):
        tv_tensors.wrap = wrap
        on_uninstall(lambda: setattr(tv_tensors, "wrap", before) if tv_tensors.wrap is wrap else None)


def make_bytes_plan(recipe: Recipe, rows: bool) -> Plan | None:
    """Return the plan of a recipe's uint8 tensor; rows: pixel by pixel, else plane by plane."""
    (width, height), bands = recipe.size, recipe.bands
    if min(width, height) < 2:  # a sample cannot show the layout of a side of one
        return None
    return new_plan((recipe, (), _BYTES_STEPS[bands > 1, rows], (), (bands, height, width), torch.uint8, (height, width, bands)))


_LAYOUTS = {
    (True, True): Layout("CHW", ("", "WC", "C"), torch.uint8),
    (True, False): Layout("CHW", ("HW", "W", ""), torch.uint8),
    (False, True): Layout("1HW", ("", "W", ""), torch.uint8),
    (False, False): Layout("1HW", ("", "W", ""), torch.uint8),
}  # by (several bands, row by row); torch treats a single band as row by row
_BYTES_STEPS = {key: Steps(layout, (), layout) for key, layout in _LAYOUTS.items()}


# Patching torch and torchvision.


def _find_picture(pic: Image) -> Recipe | None:
    """Return the recipe of a picture whose tensor may be deferred."""
    found = recording()
    return find_recipe(pic) if found is not None and found.tensors else None


def _record_to_tensor(original: Callable[..., torch.Tensor], pic: Image) -> Any:
    recipe = _find_picture(pic)
    after = None if recipe is None else scale_plan(recipe)
    return original(pic) if after is None else DeferredTensor(Cell(after))


def scale_plan(recipe: Recipe) -> Plan | None:
    """Return the plan of F.to_tensor of a picture."""
    plan = make_bytes_plan(recipe, rows=False)
    return plan and plan.then(*_make_scaling_calls(torch.get_default_dtype()))


@functools.lru_cache(64)
def _make_scaling_calls(dtype: torch.dtype) -> list[Call]:
    """Return the calls of F.to_tensor."""
    return [make_call(_aten._to_copy.default, (), {"dtype": dtype}), make_call(_aten.div.Tensor, (255,), {})]


def _record_pil_to_tensor(original: Callable[..., torch.Tensor], pic: Image) -> Any:
    recipe = _find_picture(pic)
    plan = None if recipe is None else make_bytes_plan(recipe, rows=True)
    return original(pic) if plan is None else DeferredTensor(Cell(plan))


def _record_normalize(
    original: Callable[..., torch.Tensor],
    tensor: torch.Tensor,
    mean: Sequence[float] | torch.Tensor,
    std: Sequence[float] | torch.Tensor,
    inplace: bool = False,
) -> Any:
    """Record what F.normalize computes, without torch's calls in between."""
    plan = _own(tensor, "cell").plan if type(tensor) is DeferredTensor else None
    after = None if plan is None or inplace else normalize_plan(plan, mean, std)
    return original(tensor, mean, std, inplace) if after is None else DeferredTensor(Cell(after))


def normalize_plan(
    plan: Plan, mean: Sequence[float] | torch.Tensor, std: Sequence[float] | torch.Tensor
) -> Plan | None:
    """Return the plan of F.normalize, or None if F.normalize raises or does more."""
    means, stds = _as_numbers(mean, plan.dtype), _as_numbers(std, plan.dtype)
    if means is None or stds is None or not _calls_own_functions("normalize") or not plan.dtype.is_floating_point or 0 in stds:
        return None
    calls = _make_normalizing_calls(plan.dtype, means, stds)
    return plan.then(*calls) if calls else None


def _as_numbers(values: Sequence[float] | torch.Tensor, dtype: torch.dtype) -> tuple[float, ...] | None:
    """Return numbers from a list or a tensor of this dtype, or None if it is neither."""
    if type(values) in _LISTS:
        return tuple(values) if {*map(type, values)} <= _NUMBERS else None
    plain = type(values) is torch.Tensor and values.ndim == 1 and values.dtype is dtype and _is_constant(values)
    return tuple(values.tolist()) if plain else None


def _calls_own_functions(name: str) -> bool:
    """Whether what F's function of that name calls is torchvision's own."""
    return all(getattr(home, name) is own[name] for home, own in _callees)


_LISTS, _NUMBERS = (list, tuple), {int, float}
_callees: list[tuple[Any, dict[str, Any]]] = []  # a module that F's functions call, and its own functions


@functools.lru_cache(64)
def _make_normalizing_calls(dtype: torch.dtype, mean: tuple[float, ...], std: tuple[float, ...]) -> list[Call]:
    """Return the calls of F.normalize; none if it raises."""
    numbers = [torch.as_tensor(each, dtype=dtype).view(-1, 1, 1) for each in (mean, std)]
    if (numbers[1] == 0).any():
        return []
    return [make_call(func, (each,), {}) for func, each in zip((_aten.sub_.Tensor, _aten.div_.Tensor), numbers)]


def _record_convert_image_dtype(
    original: Callable[..., torch.Tensor], image: torch.Tensor, dtype: torch.dtype = torch.float
) -> Any:
    plan = _own(image, "cell").plan if type(image) is DeferredTensor else None
    after = None if plan is None else convert_plan(plan, dtype)
    return original(image, dtype) if after is None else DeferredTensor(Cell(after))


def convert_plan(plan: Plan, dtype: torch.dtype) -> Plan | None:
    """Return the plan of F.convert_image_dtype from bytes to fractions: the same two calls as
    F.to_tensor."""
    fractions = plan.dtype is torch.uint8 and type(dtype) is torch.dtype and dtype.is_floating_point
    return plan.then(*_make_scaling_calls(dtype)) if fractions and _calls_own_functions("convert_image_dtype") else None


def _record_grayscale(original: Callable[..., Image], img: Image, num_output_channels: int) -> Any:
    recipe = find_recipe(img)
    if recipe is None or num_output_channels != 3 or type(num_output_channels) is not int:
        return original(img, num_output_channels)
    if recipe.mode == "RGB":
        recipe = recipe.then("convert", "L", mode="L")
    return new_image(recipe.then("convert", "RGB", mode="RGB"))


def _record_pad(
    original: Callable[..., Image],
    img: Image,
    padding: int | Sequence[int],
    fill: Colour = 0,
    padding_mode: str = "constant",
) -> Any:
    recipe = find_recipe(img)
    sides = padding if type(padding) in (tuple, list) else (padding,)
    if (
        recipe is None
        or padding_mode not in _PADS
        or len(sides) not in (1, 2, 4)
        or not all(type(side) is int and side >= 0 for side in sides)
    ):
        return original(img, padding, fill, padding_mode)
    left, top, right, bottom = (*sides, *sides, *sides, *sides)[:4]
    (width, height), inner = recipe.size, _PADS[padding_mode]
    # padding would wrap around more than once
    if max(left, right) > width - inner or max(top, bottom) > height - inner or not any(sides):
        return original(img, padding, fill, padding_mode)
    return new_image(
        recipe.then("pad", padding_mode, left, top, right, bottom, size=(width + left + right, height + top + bottom)),
    )


_PADS = {"edge": -(1 << 16), "reflect": 1, "symmetric": 0}  # padding must be at most the side less this


def _record_hue(original: Callable[..., Image], img: Image, hue_factor: float) -> Any:
    recipe = find_recipe(img)
    if recipe is None or recipe.mode != "RGB" or type(hue_factor) not in (int, float) or not -0.5 <= hue_factor <= 0.5:
        return original(img, hue_factor)
    return new_image(recipe.then("hue", to_hue_byte(hue_factor)))


def to_hue_byte(factor: float) -> int:
    """Return a hue factor as the byte that torchvision adds: NumPy's int32 of the number,
    truncated."""
    return int(factor * 255) & 255


def _wrap_collate(original: Callable[..., Any]) -> Any:
    def collate(batch: Sequence[torch.Tensor], *, collate_fn_map: dict[Any, Any] | None = None) -> Any:
        if not any(isinstance(item, DeferredTensor) for item in batch):
            return original(batch, collate_fn_map=collate_fn_map)
        tensor = _record_stack(batch)
        return (
            original(
                [item.materialize() if isinstance(item, DeferredTensor) else item for item in batch], collate_fn_map=collate_fn_map
            )
            if tensor is None
            else tensor
        )

    return collate


_done: set[str] = set()


def install(modules: dict[str, ModuleType]) -> None:
    """Patch what has been imported by now; called again after further imports."""
    if "torch" not in _done:
        _done.add("torch")
        on_uninstall(lambda: _done.intersection_update({"images"}))
        from torch.utils.data._utils import collate

        reduced = ForkingPickler._extra_reducers.get(torch.Tensor, reductions.reduce_tensor)  # type: ignore[attr-defined]
        ForkingPickler.register(torch.Tensor, lambda each: reduced(each.materialize() if isinstance(each, DeferredTensor) else each))
        kinds = collate.default_collate_fn_map
        before = kinds[torch.Tensor]
        kinds[torch.Tensor] = ours = _wrap_collate(before)
        on_uninstall(lambda: kinds.update({torch.Tensor: before}) if kinds[torch.Tensor] is ours else None)
    tv_tensors = modules.get("torchvision.tv_tensors")
    if tv_tensors is not None and "images" not in _done:
        _done.add("images")
        _define_deferred_image(tv_tensors)
    if tv_tensors is not None and "wrap" not in _done:
        _done.add("wrap")
        _patch_wrap(tv_tensors)
    functional = modules.get("torchvision.transforms.functional")
    if functional is not None and "torchvision" not in _done:
        _done.add("torchvision")
        replace(functional, "to_tensor", _record_to_tensor)
        replace(functional, "pil_to_tensor", _record_pil_to_tensor)
        _callees[:] = [(functional.F_t, {name: getattr(functional.F_t, name) for name in ("normalize", "convert_image_dtype")})]
        replace(functional, "normalize", _record_normalize)
        replace(functional, "convert_image_dtype", _record_convert_image_dtype)
        replace(functional, "gaussian_blur", blurs.record_picture_blur("v1"))
        replace(functional.F_pil, "to_grayscale", _record_grayscale)
        replace(functional.F_pil, "adjust_hue", _record_hue)
        replace(functional.F_pil, "pad", _record_pad)
