"""Plans of deferred tensors: a picture, and the operations that make a tensor of it.

Operations on single values become a table of 256 entries for each band, which torch computes. Crops
and flips become operations of the picture. The memory layout of a result is not computed here: each
operation is tried once on a small sample with the same layout.
"""

from __future__ import annotations

import functools
import math
import warnings
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple, Union

import torch

from .pictures import Recipe

Key = Union[int, slice, None, torch.Tensor, tuple[Any, ...]]  # of an indexing expression

Sides = tuple[int, int, int]  # height, width, bands
_NAMES = "HWC"
SAMPLE_SIDES = (5, 7)  # height and width of samples: no product of sides equals another product of them
_BASE_SIDES = (11, 13)  # sides of what a sample is cropped from
_FLIPS = {"W": 0, "H": 1}  # Pillow's numbers


class ItselfType:
    """Marks an operand that is the tensor itself."""


ITSELF = ItselfType()


class Call:
    """An operation on a tensor, and its other arguments. Equal calls are mostly the same object."""

    __slots__ = ("func", "rest", "kwargs")

    def __init__(self, func: Callable[..., Any], rest: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.func, self.rest, self.kwargs = func, rest, kwargs

    def __call__(self, value: torch.Tensor) -> Any:
        return self.func(value, *(value if each is ITSELF else each for each in self.rest), **self.kwargs)


_calls: dict[Any, Call] = {}


def make_call(func: Callable[..., Any], rest: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """Return a call with a copy of its arguments."""
    key = (func, *map(_key_of, rest), *kwargs.items())
    found = _calls.get(key)
    if found is None:
        if len(_calls) >= 256:
            _calls.clear()
        own = tuple(each.clone() if isinstance(each, torch.Tensor) else each for each in rest)
        found = _calls[key] = Call(func, own, kwargs)
    return found


def _key_of(value: object) -> Any:
    if isinstance(value, torch.Tensor) and value.dtype != torch.bfloat16:
        return value.dtype, value.shape, value.numpy().tobytes()
    return type(value), value, isinstance(value, float) and math.copysign(1, value)


def write_item(value: torch.Tensor, key: Key, new: float | torch.Tensor) -> Any:
    """Do value[key] = new, as a call."""
    value[key] = new
    return value


class Layout(NamedTuple):
    """The memory layout of a tensor made from a picture.

    steps holds the stride of each axis as a product of sides ("WC"), or "0".
    """

    axes: str  # letters of H, W, C, and 1 for an axis of size one
    steps: tuple[str, ...]
    dtype: torch.dtype
    cut: bool = False  # a crop: steps are products of the larger tensor's sides

    def shape(self, sides: Sides) -> tuple[int, ...]:
        return tuple(1 if axis == "1" else sides[_NAMES.index(axis)] for axis in self.axes)

    def strides(self, base_sides: Sides) -> tuple[int, ...]:
        """Return the strides in elements."""
        return tuple(multiply_sides(step, base_sides) for step in self.steps)

    def empty(self, sides: Sides, base_sides: Sides) -> Any:
        """Return memory with this layout. Gaps between elements are zeros."""
        shape, strides = self.shape(sides), self.strides(base_sides)
        size = sum((n - 1) * step for n, step in zip(shape, strides)) + 1
        memory = torch.zeros if self.cut or "0" in self.steps else torch.empty
        return memory(size, dtype=self.dtype).as_strided(shape, strides)

    def is_dense(self) -> bool:
        """Whether there are no gaps between elements."""
        return not self.cut and "0" not in self.steps

    def to_planes(self, value: torch.Tensor) -> torch.Tensor:
        """View a tensor as (band, row, column)."""
        if self.axes == "CHW":
            return value
        for at in range(len(self.axes) - 1, -1, -1):
            if self.axes[at] == "1":
                value = value.select(at, 0)
        axes = self.axes.replace("1", "")
        if "C" not in axes:
            value, axes = value.unsqueeze(0), "C" + axes
        return value.permute([axes.index(axis) for axis in "CHW"])

    def from_planes(self, value: torch.Tensor) -> torch.Tensor:
        """Convert (band, row, column) to this layout, as a copy."""
        if "C" not in self.axes:
            value = value[0]
        axes = "CHW" if "C" in self.axes else "HW"
        value = value.permute([axes.index(axis) for axis in self.axes if axis != "1"]).contiguous()
        for at, axis in enumerate(self.axes):
            if axis == "1":
                value = value.unsqueeze(at)
        return value


def multiply_sides(step: str, sides: Sides) -> int:
    return 0 if step == "0" else math.prod(sides[_NAMES.index(letter)] for letter in step)


class Steps(NamedTuple):
    """The operations on each pixel."""

    begin: Layout
    calls: tuple[Call, ...]
    end: Layout

    def run(self, pixels: torch.Tensor) -> torch.Tensor:
        """Apply the steps to bytes (band, row, column), which they may change. Returns the same
        order."""
        value = self.begin.from_planes(pixels)
        for call in self.calls:
            value = call(value)
        return self.end.to_planes(value)


class Plan(NamedTuple):
    """How a tensor is made: from a picture, by calls; or as a stack of plans and tensors.
    Immutable."""

    recipe: Recipe | None
    parts: tuple[Plan | torch.Tensor, ...]  # of a stack, which has no calls
    steps: Steps | None  # elementwise operations, and views
    tail: tuple[Call, ...]  # calls after the steps
    shape: tuple[int, ...]
    dtype: torch.dtype
    base_sides: Sides  # the sides that the layout's steps multiply

    @property
    def layout(self) -> Layout:
        assert self.steps is not None
        end = self.steps.end
        return end if end.dtype is self.dtype else end._replace(dtype=self.dtype)

    def strides(self) -> tuple[int, ...]:
        steps = self.steps
        if steps is not None:
            key = id(steps), self.base_sides
            same, found = _strides.get(key, _NEVER)
            if same is not steps:
                if len(_strides) >= 1024:
                    _strides.clear()
                found = steps.end.strides(self.base_sides)
                _strides[key] = steps, found
            return found
        return tuple(math.prod(self.shape[i + 1 :]) for i in range(len(self.shape)))

    def then(self, *calls: Call) -> Plan | None:
        """Return the plan after further elementwise calls, or None if their result is not known."""
        recipe = self.recipe
        if self.steps is None or recipe is None:
            return None
        if self.tail:
            return self._then(calls)
        key = id(self.steps), self.dtype, recipe.size, recipe.mode, calls
        steps, rest = _after_calls.get(key, _NEVER)
        if steps is not self.steps:  # the first picture with these steps
            if len(_after_calls) >= 1024:
                _after_calls.clear()
            after = self._then(calls)
            rest = after and after[1:]
            _after_calls[key] = self.steps, rest
        return rest and new_plan((recipe, *rest))

    def _then(self, calls: tuple[Call, ...]) -> Plan | None:
        assert self.recipe is not None and self.steps is not None
        layout: Layout | None = self.layout
        for call in calls:
            layout = layout and _find_layout(layout, self.recipe.bands, call)
        if layout is None:
            return None
        if self.tail:
            return (
                self._replace(tail=(*self.tail, *calls), dtype=layout.dtype)
                if layout == self.layout._replace(dtype=layout.dtype)
                else None
            )
        width, height = self.recipe.size
        sides = height, width, self.recipe.bands
        steps = Steps(self.steps.begin, (*self.steps.calls, *calls), layout)
        return Plan(self.recipe, (), steps, (), layout.shape(sides), layout.dtype, sides)

    def permute(self, order: tuple[int, ...]) -> Plan | None:
        if self.tail or self.steps is None or self.recipe is None or sorted(order) != list(range(len(self.shape))):
            return None
        axes, strides = "".join(self.layout.axes[i] for i in order), tuple(self.layout.steps[i] for i in order)
        layout = self.layout._replace(axes=axes, steps=strides)
        width, height = self.recipe.size
        steps = Steps(self.steps.begin, (*self.steps.calls, make_call(torch.permute, (order,), {})), layout)
        return self._replace(steps=steps, shape=layout.shape((height, width, self.recipe.bands)), dtype=layout.dtype)

    def flip(self, call: Call, axes: tuple[int, ...]) -> Plan | None:
        """Return the plan after torch's flip. The elementwise calls may run after it."""
        if self.tail or self.steps is None or self.recipe is None:
            return None
        names = [self.layout.axes[axis] for axis in axes if -len(self.shape) <= axis < len(self.shape)]
        if len(names) != len(axes) or len(set(names)) != len(names) or not set(names) <= _FLIPS.keys():
            return None
        after = self.then(call)
        if after is None:
            return None
        recipe = self.recipe
        for name in names:
            recipe = recipe.transpose(_FLIPS[name])
        return after._replace(recipe=recipe, steps=after.steps._replace(calls=self.steps.calls))

    def write(self, key: Key, new: float | torch.Tensor) -> Plan | None:
        """Return the plan after writing values to a part of the tensor."""
        if self.steps is None:
            return None
        try:
            part = torch.empty(()).expand(self.shape)[key].shape
            fits = not isinstance(new, torch.Tensor) or torch.broadcast_shapes(part, new.shape) == part
        except (RuntimeError, IndexError, ValueError):
            return None  # the real operation raises it
        return self._replace(tail=(*self.tail, Call(write_item, (key, new), {}))) if fits else None

    def index(self, key: tuple[Any, ...]) -> Plan | None:
        """Return the plan of self[key], or None if it is not a rectangle of the picture.

        The key may have integers, slices, None and an Ellipsis.
        """
        if self.tail or self.steps is None or self.recipe is None:
            return None
        return _Indexing(self).run(key)


new_plan = functools.partial(tuple.__new__, Plan)  # from all fields, without running __new__ in Python

#: Keyed by the identity of steps, which the entry keeps alive.
_after_calls: dict[Any, Any] = {}  # the plan after further calls, without its recipe
_strides: dict[Any, Any] = {}  # its strides
_NEVER = None, None


class _Indexing:
    def __init__(self, plan: Plan) -> None:
        self.layout = plan.layout
        self.plan = plan
        assert plan.recipe is not None
        width, height = plan.recipe.size
        self.parts = {"H": (0, height), "W": (0, width)}
        self.axes, self.steps = "", []

    def run(self, key: tuple[Any, ...]) -> Plan | None:
        layout = self.layout
        if sum(each is Ellipsis for each in key) > 1 or any(not _is_basic(each) for each in key):
            return None
        rest = len(layout.axes) - sum(each is not None and each is not Ellipsis for each in key)
        if rest < 0:
            return None
        full: list[Any] = []
        for each in key if Ellipsis in key else (*key, Ellipsis):
            full += [slice(None)] * rest if each is Ellipsis else [each]
        at = 0
        for each in full:
            if each is None:
                step = self.find_unit_step(at, full)
                if step is None:
                    return None
                self.axes, self.steps = self.axes + "1", [*self.steps, step]
            elif not self.take_key(at, each):
                return None
            at += each is not None
        return self.make_plan()

    def find_unit_step(self, at: int, keys: list[Any]) -> str | None:
        """Return the step of a new axis of size one before axis `at`."""
        layout = self.layout
        if layout.cut or any(each is not None and each != slice(None) for each in keys):
            return None
        letters = layout.steps[at] + layout.axes[at].strip("1") if at < len(layout.axes) else ""
        return "".join(letter for letter in _NAMES if letter in letters)

    def take_key(self, at: int, each: int | slice) -> bool:
        axis, step = self.layout.axes[at], self.layout.steps[at]
        if type(each) is int:
            return axis == "1" and each in (0, -1)
        size = 1 if axis == "1" else self.plan.shape[at]
        try:
            start, stop, by = each.indices(size)
        except (TypeError, ValueError):
            return False
        if (start, stop, by) != (0, size, 1):
            if axis not in _FLIPS or by != 1:
                return False
            self.parts[axis] = start, stop
        self.axes, self.steps = self.axes + axis, [*self.steps, step]
        return True

    def make_plan(self) -> Plan | None:
        plan, (top, bottom), (left, right) = self.plan, self.parts["H"], self.parts["W"]
        recipe = plan.recipe
        assert recipe is not None and plan.steps is not None
        if bottom - top < 2 or right - left < 2:
            return None
        cut = (right - left, bottom - top) != recipe.size
        if cut:
            recipe = recipe.crop((left, top, right, bottom))
        calls = plan.steps.calls
        if self.axes != self.layout.axes:
            calls = (*calls, make_call(_reshape, (self.axes,), {}))
        layout = self.layout._replace(axes=self.axes, steps=tuple(self.steps), cut=self.layout.cut or cut)
        sides = bottom - top, right - left, recipe.bands
        return Plan(recipe, (), Steps(plan.steps.begin, calls, layout), (), layout.shape(sides), layout.dtype, plan.base_sides)


def _reshape(value: torch.Tensor, axes: str) -> Any:
    """Insert or remove axes of size one as axes says; the other axes keep their order."""
    sides = iter([side for side in value.shape if side != 1])
    return value.reshape([1 if axis == "1" else next(sides) for axis in axes])


def _is_basic(each: object) -> bool:
    return each is None or each is Ellipsis or type(each) is int or type(each) is slice


_found_layouts: dict[Any, Any] = {}  # by layout and call, which the key keeps alive


def _find_layout(layout: Layout, bands: int, call: Call) -> Layout | None:
    """Return the layout that an elementwise call gives. It is tried once, on a small sample."""
    key = (layout, bands, call)
    if key not in _found_layouts:
        if len(_found_layouts) >= 1024:
            _found_layouts.clear()
        _found_layouts[key] = _try_layout(layout, bands, call)
    return _found_layouts[key]


def _try_layout(layout: Layout, bands: int, call: Call) -> Layout | None:
    sample_sides = (*SAMPLE_SIDES, bands)
    sample = layout.empty(sample_sides, (*_BASE_SIDES, bands) if layout.cut else sample_sides)
    if "0" not in layout.steps:  # torch refuses to write to overlapping memory
        sample[...] = 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            after = call(sample)
    except Exception:
        return None  # the real operation raises or warns
    return read_layout(after, layout, bands)


def read_layout(after: object, layout: Layout, bands: int) -> Layout | None:
    """Read the layout of a sample with sides SAMPLE_SIDES; None if it is not one that a Layout can
    hold.

    layout is that of the input.
    """
    sample_sides = (*SAMPLE_SIDES, bands)
    if type(after) is not torch.Tensor:
        return None
    strides = after.stride()
    axes = "".join(_name_axis(side, bands) for side in after.shape)
    products = ("", "W", "H", "HW") if bands == 1 else ("", "C", "W", "H", "WC", "HC", "HW", "HWC")
    names = {multiply_sides(step, sample_sides): step for step in products}
    steps = tuple(names.get(step, "?") for step in strides)
    dense = sorted((step, side) for step, side in zip(strides, after.shape) if side != 1)
    size = 1
    for step, side in dense:
        if step != size:
            return None
        size *= side
    same = sorted(axes.replace("1", "")) == sorted(layout.axes.replace("1", ""))
    return Layout(axes, steps, after.dtype) if same and "?" not in (*steps, *axes) else None


def _name_axis(side: int, bands: int) -> str:
    return {1: "1", bands: "C" if bands > 1 else "1", SAMPLE_SIDES[0]: "H", SAMPLE_SIDES[1]: "W"}.get(side, "?")


class Family:
    """Deferred tensors that share memory."""

    def __init__(self, cell: Cell) -> None:
        self.plan = cell.plan
        self._cells: list[weakref.ref[Cell]] = []
        self.join(cell)

    def join(self, cell: Cell) -> None:
        self._cells.append(weakref.ref(cell))

    def list_living(self) -> list[Cell]:
        return [cell for cell in (seen() for seen in self._cells) if cell is not None and cell.family is self]


class Cell:
    """What a DeferredTensor and its aliases share: first the plan, then the value."""

    __slots__ = ("plan", "value", "family", "views", "__weakref__")

    def __init__(self, plan: Plan) -> None:
        self.plan: Plan | None = plan
        self.value: Any = None
        self.family: Family | None = None  # the cells that share its memory
        self.views: tuple[Callable[[Any], Any], ...] = ()  # from the family's first cell to this one

    def view(self, plan: Plan, view: Callable[[Any], Any]) -> Cell:
        """Return another cell that views this one's memory."""
        if self.family is None or len(self.family.list_living()) == 1:
            self.views, self.family = (), Family(self)
        cell = Cell(plan)
        cell.family, cell.views = self.family, (*self.views, view)
        cell.family.join(cell)
        return cell

    def is_alone(self) -> bool:
        """Whether no other deferred tensor shares its memory."""
        return self.family is None or len(self.family.list_living()) == 1

    def change(self, plan: Plan | None) -> bool:
        """Replace the plan after a write. Returns False if other tensors share the memory."""
        if plan is None or not self.is_alone():
            return False
        self.family, self.views, self.plan = None, (), plan
        return True

    def settle(self, value: torch.Tensor) -> None:
        """Set the value."""
        self.value, self.plan, self.family, self.views = value, None, None, ()
