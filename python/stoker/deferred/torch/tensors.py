"""Tensors that are made later, of pictures that are made later.

A `Later` is a tensor without storage, which knows its shape and type. What torchvision and torch's default collate
ask of such tensors elementwise is kept and done with the pixels; any other operation gets the real tensor, made there
and then, and so does anything that asks for memory, NumPy, a copy or a pickle. Once made, a tensor keeps its value:
views and writes go there.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Sequence
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
from torch.multiprocessing import reductions

from ..materialize.making import maker
from ..recipes import share
from ..recipes.job import table_of
from ..recipes.pictures import BANDS, Recipe, Recording, bare, deferred, recording, undoing
from ..recipes.plan import ITSELF, Call, Cell, Look, Plan, Steps, call_of, plan_of
from ..recipes.standins import replace
from . import blurs, masks

_aten = torch.ops.aten
_IN_PLACE = {_aten.add_.Tensor, _aten.sub_.Tensor, _aten.mul_.Tensor, _aten.div_.Tensor}
_ARITHMETIC = {_aten.add.Tensor, _aten.sub.Tensor, _aten.mul.Tensor, _aten.div.Tensor}
_COMPARISONS = {_aten.eq.Scalar, _aten.ne.Scalar, _aten.lt.Scalar, _aten.le.Scalar, _aten.gt.Scalar, _aten.ge.Scalar}
_INTEGERS = {torch.uint8, torch.int16, torch.int32, torch.int64}
_DTYPES = {*_INTEGERS, torch.float16, torch.bfloat16, torch.float32, torch.float64}

# What can be asked of a Later without making it: its looks, and what goes through __torch_dispatch__.
_KNOWN = set(
    "shape dtype ndim device layout requires_grad is_leaf grad_fn names is_sparse is_nested is_quantized "
    "is_cuda is_cpu is_mps is_meta"
    " size dim stride numel nelement is_floating_point is_complex is_contiguous element_size type get_device"
    " clone detach to float half bfloat16 double short int long contiguous add sub mul div add_ sub_ mul_ div_ flip permute unsqueeze view".split()
)
VALUES = "the values of a tensor"  # what may be asked for
_OWN = {
    "cell",
    "real",
    "made",
    "face",
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
_own, _set_own = object.__getattribute__, object.__setattr__  # without what Later puts in their place


class _Posing(type(torch.Tensor)):  # type: ignore[misc]
    """A class that is equal to the one that it stands for, as programs have tables by class."""

    stands_for: type

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is cls.stands_for

    def __hash__(cls) -> int:
        return hash(cls.stands_for)


class Later(torch.Tensor, metaclass=_Posing):
    """A tensor whose memory does not exist yet."""

    stands_for = torch.Tensor
    cell: Cell
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, cell: Any = None, *args: Any, **kwargs: Any) -> Any:
        if type(cell) is not Cell:  # a program made another one of that type
            return cls.stands_for(*(() if cell is None else (cell,)), *args, **kwargs)
        plan = cell.plan
        assert plan is not None
        tensor = _make_wrapper(cls, plan.shape, strides=plan.strides(), dtype=plan.dtype)
        _set_own(tensor, "cell", cell)
        if found := recording():
            found.laters.append(weakref.ref(tensor))
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
        return valued(self.cell, VALUES)

    def __getattribute__(self, name: str) -> Any:
        if name in _OWN or name in _KNOWN and _own(self, "cell").value is None:
            return _own(self, name)
        return getattr(self.real(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OWN:
            _set_own(self, name, value)
        else:
            setattr(self.real(), name, value)

    def __getitem__(self, key: Any) -> Any:
        keys = key if type(key) is tuple else (key,)
        return self._view(lambda plan: plan.indexed(keys), lambda value: value[key])

    def permute(self, *dims: Any) -> Any:
        order = tuple(dims[0] if len(dims) == 1 and type(dims[0]) in (tuple, list) else dims)
        return self._view(lambda plan: plan.permuted(_positive(order)), lambda value: value.permute(*dims))

    def view(self, *shape: Any) -> Any:
        sides = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        same = tuple(sides) == tuple(self.shape)  # as some make sure of
        return self._view(lambda plan: plan if same else None, lambda value: value.view(*shape))

    def unsqueeze(self, dim: Any) -> Any:
        rank = len(self.shape) + 1
        keys = (*[slice(None)] * (dim % rank), None) if type(dim) is int and -rank <= dim < rank else None
        return self._view(lambda plan: keys and plan.indexed(keys), lambda value: value.unsqueeze(dim))

    def _view(self, change: Any, look: Any) -> Any:
        """What another look at the same memory gives, where that can wait."""
        cell = self.cell
        if cell.plan is not None and recording() and not _wrapping():
            plan = change(cell.plan)
            if plan is not None:
                return Later(cell.view(plan, look))
        return look(self.real())

    def __setitem__(self, key: Any, value: Any) -> None:
        cell = self.cell
        if isinstance(key, Later) and type(value) in (int, float) and cell.plan and key.cell.plan and recording():
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
        plan = cell.plan.set(key, _kept(value)) if cell.plan and plain and _constant(value) else None
        if not cell.change(plan):
            self.real()[_real(key)] = _real(value)

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


def _take_name(kind: type[Later]) -> None:
    """Have a class print as the one that it stands for."""
    for name in ("__name__", "__qualname__", "__module__"):
        setattr(kind, name, getattr(kind.stands_for, name))


_take_name(Later)


def valued(cell: Cell, what: str, others: Sequence[Cell] = ()) -> Any:
    """The value, made where it is not there yet, with others that are asked for at the same time."""
    if cell.value is None:
        if recording():
            Recording.needed(what)
        beside = [*others, *_beside(cell)]
        alone = not beside and cell.plan is not None and not cell.plan.parts
        source = None if cell.plan is None or cell.plan.recipe is None else cell.plan.recipe.source
        maker.make([cell, *beside], share.PART if alone else share.WHOLE)
        if source is not None and (found := recording()) and not found.gathered:  # what follows is done here
            share.went(source, share.PART)
    assert cell.value is not None
    return cell.value


def _beside(cell: Cell) -> list[Cell]:
    """What is made together with it: all pictures that wait, where the program goes through some that it has read
    before."""
    found, plan = recording(), cell.plan
    if found is None or plan is None or plan.recipe is None:
        return []
    if plan.recipe.source is found.newest and not found.gathered:
        return []
    laters = [later for later in (seen() for seen in found.laters) if later is not None]
    return [later.cell for later in laters if later.cell.plan is not None and later.cell.plan.recipe is not None]


def _recorded(later: Later, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """What a call that is known gives; None: it needs the real tensor."""
    plan, rest = later.cell.plan, args[1:]
    assert plan is not None
    if func is _aten.detach.default or func is _aten.alias.default:
        return type(later)(later.cell)
    if func is _aten.flip.default:
        axes = tuple(rest[0])
        after = plan.flipped(call_of(func, (axes,), {}), axes)
    elif func in _IN_PLACE or func in _ARITHMETIC:
        other = ITSELF if len(rest) == 1 and _same(later, rest[0]) else rest[0] if rest else None
        fits = kwargs.keys() <= {"alpha"} and len(rest) == 1 and (other is ITSELF or _fits(plan, other))
        after = plan.then(call_of(func, (other,), kwargs)) if fits else _added(plan, func, rest, kwargs)
    elif func is _aten.clone.default or func is _aten._to_copy.default:
        after = plan.then(call_of(func, (), kwargs)) if not rest and _copies(kwargs) and _has_room(plan, kwargs) else None
    elif func in _COMPARISONS:
        after = plan.then(call_of(func, rest, {})) if len(rest) == 1 and type(rest[0]) in (int, float) and not kwargs else None
    else:
        after = None
    if after is None:
        return None
    if func in _IN_PLACE:
        return later if later.cell.change(after) else None
    return Later(Cell(after))


def _added(plan: Plan, func: Any, rest: Any, kwargs: dict[str, Any]) -> Plan | None:
    """With another tensor of its kind, such as noise, put into it when it is made."""
    other = rest[0] if len(rest) == 1 and func in _IN_PLACE and kwargs.keys() <= {"alpha"} else None
    fits = plan.recipe is not None and plan.dtype.is_floating_point and type(other) is torch.Tensor and _constant(other)
    if not fits or other.shape != plan.shape or other.dtype != plan.dtype:
        return None
    return plan._replace(tail=(*plan.tail, Call(func, (other.clone(),), kwargs)))


def _same(later: Later, other: Any) -> bool:
    """Whether it is the same tensor."""
    return isinstance(other, Later) and other.cell is later.cell


def _positive(order: tuple[Any, ...]) -> tuple[int, ...]:
    """The axes counted from the first; none of them where something else is among them."""
    return tuple(axis % len(order) for axis in order) if all(type(axis) is int for axis in order) else ()


def _copies(kwargs: dict[str, Any]) -> bool:
    """Whether a copy is made here, of a type that is known."""
    elsewhere = (
        kwargs.get("device") not in (None, torch.device("cpu"))
        or kwargs.get("layout") not in (None, torch.strided)
        or kwargs.get("pin_memory")
    )
    known = kwargs.keys() <= {"dtype", "memory_format", "non_blocking", "device", "layout", "pin_memory"}
    return known and not elsewhere and kwargs.get("dtype") in (None, *_DTYPES)


def _has_room(plan: Plan, kwargs: dict[str, Any]) -> bool:
    """Whether the type that is copied to has all of the values: what others become differs from processor to processor."""
    dtype = kwargs.get("dtype")
    if dtype not in _INTEGERS or not plan.dtype.is_floating_point:
        return True
    if plan.tail or plan.recipe is None or plan.steps is None:
        return False
    values, limits = table_of(plan.recipe.bands, plan.steps), torch.iinfo(dtype)
    return bool(torch.isfinite(values).all()) and limits.min <= float(values.min()) and float(values.max()) <= limits.max


def _fits(plan: Plan, constant: Any) -> bool:
    """Whether it is a number, or one for each band."""
    if not _constant(constant):
        return False
    if not isinstance(constant, torch.Tensor) or constant.ndim == 0:
        return True
    return plan.steps is not None and constant.ndim <= len(plan.shape) and per_band(plan.look, constant.shape)


def per_band(look: Look, shape: Any) -> bool:
    """Whether something of that shape has one number for all pixels of a band."""
    return all(side == 1 or axis == "C" for side, axis in zip(reversed(shape), reversed(look.axes)))


def _kept(value: Any) -> Any:
    """As it is now."""
    return value.clone() if isinstance(value, torch.Tensor) else value


def _constant(value: Any) -> bool:
    """A number, or a real tensor that nothing else can mean."""
    if isinstance(value, torch.Tensor):
        return (
            type(value) is torch.Tensor
            and value.device.type == "cpu"
            and value.layout is torch.strided
            and not value.requires_grad
        )
    return type(value) in (int, float)


def _stacked(tensors: Any) -> Later | None:
    """A stack of tensors of which some are to be made later."""
    tensors = [t if isinstance(t, Later) or type(t) not in _kinds else t.as_subclass(torch.Tensor) for t in tensors]
    plans = [_own(t, "cell").plan if isinstance(t, Later) else None for t in tensors]
    looks = {(tuple(t.shape), t.dtype) if plan is None else (plan.shape, plan.dtype) for t, plan in zip(tensors, plans)}
    if len(looks) != 1 or not any(plan is not None for plan in plans) or not all(isinstance(t, Later) or _constant(t) for t in tensors):
        return None
    ((shape, dtype),) = looks
    return Later(Cell(stack_of([_real(t).clone() if plan is None else plan for t, plan in zip(tensors, plans)], shape, dtype)))


def stack_of(parts: list[Plan | torch.Tensor], shape: tuple[int, ...], dtype: torch.dtype) -> Plan:
    """The plan of a stack."""
    return Plan(None, tuple(parts), None, (), (len(parts), *shape), dtype, (0, 0, 0))


def _real(value: Any) -> Any:
    if isinstance(value, Later):
        return value.made()
    if isinstance(value, (list, tuple)):
        return type(value)(map(_real, value)) if not hasattr(value, "_fields") else value
    return {key: _real(item) for key, item in value.items()} if isinstance(value, dict) else value


def _wrapping() -> bool:
    """Whether torchvision's own tensors are asked to give their like, which views do not know here."""
    helpers = sys.modules.get("torchvision.tv_tensors._torch_function_helpers")
    return helpers is not None and getattr(helpers, "_TORCHFUNCTION_SUBCLASS", True)


_kinds: dict[type, type[Later]] = {torch.Tensor: Later}  # which class stands for which


def _install_images(tv_tensors: Any) -> None:
    """Have torchvision's own class of tensors stood for as well, whose functions give plain tensors but for a few."""
    Image = tv_tensors.Image
    if not hasattr(Image, "_wrap_output"):
        return

    class LaterImage(Later, Image):
        stands_for = Image
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

    _take_name(LaterImage)
    _kinds[Image] = LaterImage


def _wrap_images(tv_tensors: Any) -> None:
    """Have `wrap` give torchvision's class for what stands for it. Its classes do so themselves from some version on."""
    Image, before = tv_tensors.Image, tv_tensors.wrap

    def wrap(wrappee: Any, *, like: Any, **kwargs: Any) -> Any:
        stood_for = isinstance(like, Later) and type(like).stands_for is Image
        return wrappee.as_subclass(Image) if stood_for else before(wrappee, like=like, **kwargs)

    if not hasattr(Image, "wrap"):
        tv_tensors.wrap = wrap
        undoing(lambda: setattr(tv_tensors, "wrap", before) if tv_tensors.wrap is wrap else None)


def bytes_of(recipe: Recipe, rows: bool) -> Plan | None:
    """The uint8 tensor of a recipe."""
    (width, height), bands = recipe.size, recipe.bands
    if min(width, height) < 2:  # how one with a side of one lies in memory no sample tells
        return None
    return plan_of((recipe, (), _BEGUN[bands > 1, rows], (), (bands, height, width), torch.uint8, (height, width, bands)))


_LOOKS = {
    (True, True): Look("CHW", ("", "WC", "C"), torch.uint8),
    (True, False): Look("CHW", ("HW", "W", ""), torch.uint8),
    (False, True): Look("1HW", ("", "W", ""), torch.uint8),
    (False, False): Look("1HW", ("", "W", ""), torch.uint8),
}  # by whether there are several bands, and whether row by row, which torch takes a single band for anyway
_BEGUN = {key: Steps(look, (), look) for key, look in _LOOKS.items()}


# Putting it in place.


def _waiting_picture(pic: Any) -> Recipe | None:
    """The recipe of a picture whose tensor may wait."""
    found = recording()
    return deferred(pic, BANDS) if found is not None and found.tensors else None


def _to_tensor(original: Any, pic: Any) -> Any:
    recipe = _waiting_picture(pic)
    after = None if recipe is None else scaled(recipe)
    return original(pic) if after is None else Later(Cell(after))


def scaled(recipe: Recipe) -> Plan | None:
    """What F.to_tensor gives of a picture of bytes."""
    plan = bytes_of(recipe, rows=False)
    return plan and plan.then(*_scalers(torch.get_default_dtype()))


@functools.lru_cache(64)
def _scalers(dtype: torch.dtype) -> list[Call]:
    """The calls of F.to_tensor."""
    return [call_of(_aten._to_copy.default, (), {"dtype": dtype}), call_of(_aten.div.Tensor, (255,), {})]


def _pil_to_tensor(original: Any, pic: Any) -> Any:
    recipe = _waiting_picture(pic)
    plan = None if recipe is None else bytes_of(recipe, rows=True)
    return original(pic) if plan is None else Later(Cell(plan))


def _normalize(original: Any, tensor: Any, mean: Any, std: Any, inplace: Any = False) -> Any:
    """As it is written there, without torch's way from call to call."""
    plan = _own(tensor, "cell").plan if type(tensor) is Later else None
    after = None if plan is None or inplace else normalized(plan, mean, std)
    return original(tensor, mean, std, inplace) if after is None else Later(Cell(after))


def normalized(plan: Plan, mean: Any, std: Any) -> Plan | None:
    """What F.normalize gives; None where it raises, or does more."""
    means, stds = _numbers(mean, plan.dtype), _numbers(std, plan.dtype)
    if means is None or stds is None or not _below("normalize") or not plan.dtype.is_floating_point or 0 in stds:
        return None
    calls = _normalizers(plan.dtype, means, stds)
    return plan.then(*calls) if calls else None


def _numbers(values: Any, dtype: torch.dtype) -> tuple[float, ...] | None:
    """Those of a list, or of a tensor that has them as they will be used; None where it is no such."""
    if type(values) in _LISTS:
        return tuple(values) if {*map(type, values)} <= _NUMBERS else None
    plain = type(values) is torch.Tensor and values.ndim == 1 and values.dtype is dtype and _constant(values)
    return tuple(values.tolist()) if plain else None


def _below(name: str) -> bool:
    """Whether what F's function of that name calls is torchvision's own."""
    return all(getattr(home, name) is own[name] for home, own in _called)


_LISTS, _NUMBERS = (list, tuple), {int, float}
_called: list[tuple[Any, dict[str, Any]]] = []  # the module that F's functions call, and its own functions


@functools.lru_cache(64)
def _normalizers(dtype: torch.dtype, mean: tuple[float, ...], std: tuple[float, ...]) -> list[Call]:
    """The calls of F.normalize; none where it raises."""
    numbers = [torch.as_tensor(each, dtype=dtype).view(-1, 1, 1) for each in (mean, std)]
    if (numbers[1] == 0).any():
        return []
    return [call_of(func, (each,), {}) for func, each in zip((_aten.sub_.Tensor, _aten.div_.Tensor), numbers)]


def _convert_image_dtype(original: Any, image: Any, dtype: Any = torch.float) -> Any:
    plan = _own(image, "cell").plan if type(image) is Later else None
    after = None if plan is None else converted(plan, dtype)
    return original(image, dtype) if after is None else Later(Cell(after))


def converted(plan: Plan, dtype: Any) -> Plan | None:
    """What F.convert_image_dtype gives of bytes that become fractions, by the same two calls as F.to_tensor."""
    fractions = plan.dtype is torch.uint8 and type(dtype) is torch.dtype and dtype.is_floating_point
    return plan.then(*_scalers(dtype)) if fractions and _below("convert_image_dtype") else None


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
    if (
        recipe is None
        or padding_mode not in _PADS
        or len(sides) not in (1, 2, 4)
        or not all(type(side) is int and side >= 0 for side in sides)
    ):
        return original(img, padding, fill, padding_mode)
    left, top, right, bottom = (*sides, *sides, *sides, *sides)[:4]
    (width, height), inner = recipe.size, _PADS[padding_mode]
    if max(left, right) > width - inner or max(top, bottom) > height - inner or not any(sides):  # around and around
        return original(img, padding, fill, padding_mode)
    return bare(
        img,
        recipe.then("pad", padding_mode, left, top, right, bottom, size=(width + left + right, height + top + bottom)),
    )


_PADS = {"edge": -(1 << 16), "reflect": 1, "symmetric": 0}  # what a side must have more than is put beside it


def _hue(original: Any, img: Any, hue_factor: Any) -> Any:
    recipe = deferred(img)
    if recipe is None or recipe.mode != "RGB" or type(hue_factor) not in (int, float) or not -0.5 <= hue_factor <= 0.5:
        return original(img, hue_factor)
    return bare(img, recipe.then("hue", hue_byte(hue_factor)))


def hue_byte(factor: float) -> int:
    """What is added to the hue of each pixel: NumPy's int32 of a number, as a byte."""
    return int(factor * 255) & 255


def _collate_in_place_of(original: Any) -> Any:
    def collate(batch: Any, *, collate_fn_map: Any = None) -> Any:
        if not any(isinstance(item, Later) for item in batch):
            return original(batch, collate_fn_map=collate_fn_map)
        later = _stacked(batch)
        return (
            original(
                [item.real() if isinstance(item, Later) else item for item in batch], collate_fn_map=collate_fn_map
            )
            if later is None
            else later
        )

    return collate


_done: set[str] = set()


def install(modules: Any) -> None:
    """Put it in place in this process, as far as what it is for has been imported; again and again."""
    if "torch" not in _done:
        _done.add("torch")
        undoing(lambda: _done.intersection_update({"images"}))
        from torch.utils.data._utils import collate

        reduced = ForkingPickler._extra_reducers.get(torch.Tensor, reductions.reduce_tensor)  # type: ignore[attr-defined]
        ForkingPickler.register(torch.Tensor, lambda each: reduced(each.real() if isinstance(each, Later) else each))
        kinds = collate.default_collate_fn_map
        before = kinds[torch.Tensor]
        kinds[torch.Tensor] = ours = _collate_in_place_of(before)
        undoing(lambda: kinds.update({torch.Tensor: before}) if kinds[torch.Tensor] is ours else None)
    tv_tensors = modules.get("torchvision.tv_tensors")
    if tv_tensors is not None and "images" not in _done:
        _done.add("images")
        _install_images(tv_tensors)
    if tv_tensors is not None and "wrap" not in _done:
        _done.add("wrap")
        _wrap_images(tv_tensors)
    functional = modules.get("torchvision.transforms.functional")
    if functional is not None and "torchvision" not in _done:
        _done.add("torchvision")
        replace(functional, "to_tensor", _to_tensor)
        replace(functional, "pil_to_tensor", _pil_to_tensor)
        _called[:] = [(functional.F_t, {name: getattr(functional.F_t, name) for name in ("normalize", "convert_image_dtype")})]
        replace(functional, "normalize", _normalize)
        replace(functional, "convert_image_dtype", _convert_image_dtype)
        replace(functional, "gaussian_blur", blurs.of_picture("v1"))
        replace(functional.F_pil, "to_grayscale", _grayscale)
        replace(functional.F_pil, "adjust_hue", _hue)
        replace(functional.F_pil, "pad", _pad)
