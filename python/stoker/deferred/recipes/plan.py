"""How a tensor is made that is not made yet: of which picture, and by which operations then.

Operations on single values become a table of 256 entries for each band, computed by torch itself. Cuts and flips
become steps of the picture. How a result lies in memory is not computed here: each operation is tried once on a
small sample that lies in the same way.
"""

from __future__ import annotations

import functools
import math
import warnings
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from .pictures import Recipe

Sides = tuple[int, int, int]  # height, width, bands
_NAMES = "HWC"
FEW = (5, 7)  # height and width of samples: no product of some sides is the product of others
_AROUND = (11, 13)  # of what a sample is cut out of
_FLIPS = {"W": 0, "H": 1}  # Pillow's numbers


class ItselfType:
    """Stands for the tensor itself as the other operand."""


ITSELF = ItselfType()


class Call:
    """An operation on a tensor, and what came with it. Two that are alike are mostly the same object."""

    __slots__ = ("func", "rest", "kwargs")

    def __init__(self, func: Any, rest: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.func, self.rest, self.kwargs = func, rest, kwargs

    def __call__(self, value: Any) -> Any:
        return self.func(value, *(value if each is ITSELF else each for each in self.rest), **self.kwargs)


_calls: dict[Any, Call] = {}


def call_of(func: Any, rest: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """A call with what came with it as it is now."""
    key = (func, *map(_mark, rest), *kwargs.items())
    found = _calls.get(key)
    if found is None:
        if len(_calls) >= 256:
            _calls.clear()
        own = tuple(each.clone() if isinstance(each, torch.Tensor) else each for each in rest)
        found = _calls[key] = Call(func, own, kwargs)
    return found


def _mark(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.dtype != torch.bfloat16:
        return value.dtype, value.shape, value.numpy().tobytes()
    return type(value), value, isinstance(value, float) and math.copysign(1, value)


def set_item(value: Any, key: Any, new: Any) -> Any:
    """value[key] = new, as a Call."""
    value[key] = new
    return value


class Look(NamedTuple):
    """How something lies that was made of a picture.

    steps: how far apart neighbours along each axis are, as a product of sides ("WC"); "0" nowhere.
    """

    axes: str  # of H, W, C, and 1 for an axis of one
    steps: tuple[str, ...]
    dtype: Any
    cut: bool = False  # the sides of steps are those of something larger

    def shape(self, sides: Sides) -> tuple[int, ...]:
        return tuple(1 if axis == "1" else sides[_NAMES.index(axis)] for axis in self.axes)

    def strides(self, around: Sides) -> tuple[int, ...]:
        """In elements."""
        return tuple(_product(step, around) for step in self.steps)

    def empty(self, sides: Sides, around: Sides) -> Any:
        """Memory that lies so; zeros between what belongs to it."""
        shape, strides = self.shape(sides), self.strides(around)
        size = sum((n - 1) * step for n, step in zip(shape, strides)) + 1
        memory = torch.zeros if self.cut or "0" in self.steps else torch.empty
        return memory(size, dtype=self.dtype).as_strided(shape, strides)

    def dense(self) -> bool:
        """Whether it fills its memory."""
        return not self.cut and "0" not in self.steps

    def planes(self, value: torch.Tensor) -> torch.Tensor:
        """It as (band, row, column), in its own memory."""
        if self.axes == "CHW":
            return value
        for at in range(len(self.axes) - 1, -1, -1):
            if self.axes[at] == "1":
                value = value.select(at, 0)
        axes = self.axes.replace("1", "")
        if "C" not in axes:
            value, axes = value.unsqueeze(0), "C" + axes
        return value.permute([axes.index(axis) for axis in "CHW"])

    def of_planes(self, value: torch.Tensor) -> torch.Tensor:
        """Of (band, row, column), in other memory."""
        if "C" not in self.axes:
            value = value[0]
        axes = "CHW" if "C" in self.axes else "HW"
        value = value.permute([axes.index(axis) for axis in self.axes if axis != "1"]).contiguous()
        for at, axis in enumerate(self.axes):
            if axis == "1":
                value = value.unsqueeze(at)
        return value


def _product(step: str, sides: Sides) -> int:
    return 0 if step == "0" else math.prod(sides[_NAMES.index(letter)] for letter in step)


class Steps(NamedTuple):
    """What is done to each pixel."""

    begin: Look
    calls: tuple[Call, ...]
    end: Look

    def run(self, pixels: torch.Tensor) -> torch.Tensor:
        """Of bytes (band, row, column) of one's own the values, in the same order."""
        value = self.begin.of_planes(pixels)
        for call in self.calls:
            value = call(value)
        return self.end.planes(value)


class Plan(NamedTuple):
    """How something is made: of a picture, with calls then; or as a stack of plans and tensors. Never changes."""

    recipe: Recipe | None
    parts: tuple[Plan | torch.Tensor, ...]  # of a stack, which has no calls: it may as well be made then
    steps: Steps | None  # elementwise, and what only looks at it in another way
    tail: tuple[Call, ...]  # what is done to it then
    shape: tuple[int, ...]
    dtype: Any
    around: Sides  # what steps of its look are counted in

    @property
    def look(self) -> Look:
        assert self.steps is not None
        end = self.steps.end
        return end if end.dtype is self.dtype else end._replace(dtype=self.dtype)

    def strides(self) -> tuple[int, ...]:
        steps = self.steps
        if steps is not None:
            key = id(steps), self.around
            same, found = _laid.get(key, _NEVER)
            if same is not steps:
                if len(_laid) >= 1024:
                    _laid.clear()
                found = steps.end.strides(self.around)
                _laid[key] = steps, found
            return found
        return tuple(math.prod(self.shape[i + 1 :]) for i in range(len(self.shape)))

    def then(self, *calls: Call) -> Plan | None:
        """With further calls, which are elementwise; None where it has to be seen what comes of one."""
        recipe = self.recipe
        if self.steps is None or recipe is None:
            return None
        if self.tail:
            return self._then(calls)
        key = id(self.steps), self.dtype, recipe.size, recipe.mode, calls
        steps, rest = _thens.get(key, _NEVER)
        if steps is not self.steps:  # no earlier picture had it
            if len(_thens) >= 1024:
                _thens.clear()
            after = self._then(calls)
            rest = after and after[1:]
            _thens[key] = self.steps, rest
        return rest and plan_of((recipe, *rest))

    def _then(self, calls: tuple[Call, ...]) -> Plan | None:
        assert self.recipe is not None and self.steps is not None
        look: Look | None = self.look
        for call in calls:
            look = look and _after(look, self.recipe.bands, call)
        if look is None:
            return None
        if self.tail:
            return (
                self._replace(tail=(*self.tail, *calls), dtype=look.dtype)
                if look == self.look._replace(dtype=look.dtype)
                else None
            )
        width, height = self.recipe.size
        sides = height, width, self.recipe.bands
        steps = Steps(self.steps.begin, (*self.steps.calls, *calls), look)
        return Plan(self.recipe, (), steps, (), look.shape(sides), look.dtype, sides)

    def permuted(self, order: tuple[int, ...]) -> Plan | None:
        if self.tail or self.steps is None or self.recipe is None or sorted(order) != list(range(len(self.shape))):
            return None
        axes, strides = "".join(self.look.axes[i] for i in order), tuple(self.look.steps[i] for i in order)
        look = self.look._replace(axes=axes, steps=strides)
        width, height = self.recipe.size
        steps = Steps(self.steps.begin, (*self.steps.calls, call_of(torch.permute, (order,), {})), look)
        return self._replace(steps=steps, shape=look.shape((height, width, self.recipe.bands)), dtype=look.dtype)

    def flipped(self, call: Call, axes: tuple[int, ...]) -> Plan | None:
        """As torch's flip; what is done to each value may as well be done after it."""
        if self.tail or self.steps is None or self.recipe is None:
            return None
        names = [self.look.axes[axis] for axis in axes if -len(self.shape) <= axis < len(self.shape)]
        if len(names) != len(axes) or len(set(names)) != len(names) or not set(names) <= _FLIPS.keys():
            return None
        after = self.then(call)
        if after is None:
            return None
        recipe = self.recipe
        for name in names:
            recipe = recipe.transpose(_FLIPS[name])
        return after._replace(recipe=recipe, steps=after.steps._replace(calls=self.steps.calls))

    def set(self, key: Any, new: Any) -> Plan | None:
        """With values put into a part of it."""
        if self.steps is None:
            return None
        try:
            part = torch.empty(()).expand(self.shape)[key].shape
            fits = not isinstance(new, torch.Tensor) or torch.broadcast_shapes(part, new.shape) == part
        except (RuntimeError, IndexError, ValueError):
            return None  # to be raised by the real one
        return self._replace(tail=(*self.tail, Call(set_item, (key, new), {}))) if fits else None

    def indexed(self, key: tuple[Any, ...]) -> Plan | None:
        """self[key] of whole numbers, slices, None and an Ellipsis, where a rectangle of the picture comes of it."""
        if self.tail or self.steps is None or self.recipe is None:
            return None
        return _Indexing(self).run(key)


plan_of = functools.partial(tuple.__new__, Plan)  # of all its fields, without a call of Python's

#: By steps that are the same object, which is kept here.
_thens: dict[Any, Any] = {}  # what further calls make of a plan, but for its recipe
_laid: dict[Any, Any] = {}  # its strides
_NEVER = None, None


class _Indexing:
    def __init__(self, plan: Plan) -> None:
        self.look = plan.look
        self.plan = plan
        assert plan.recipe is not None
        width, height = plan.recipe.size
        self.parts = {"H": (0, height), "W": (0, width)}
        self.axes, self.steps = "", []

    def run(self, key: tuple[Any, ...]) -> Plan | None:
        look = self.look
        if sum(each is Ellipsis for each in key) > 1 or any(not _basic(each) for each in key):
            return None
        rest = len(look.axes) - sum(each is not None and each is not Ellipsis for each in key)
        if rest < 0:
            return None
        full: list[Any] = []
        for each in key if Ellipsis in key else (*key, Ellipsis):
            full += [slice(None)] * rest if each is Ellipsis else [each]
        at = 0
        for each in full:
            if each is None:
                step = self.step_of_one(at, full)
                if step is None:
                    return None
                self.axes, self.steps = self.axes + "1", [*self.steps, step]
            elif not self.take(at, each):
                return None
            at += each is not None
        return self.made()

    def step_of_one(self, at: int, keys: list[Any]) -> str | None:
        """The step of a new axis of one in front of another: past all of that."""
        look = self.look
        if look.cut or any(each is not None and each != slice(None) for each in keys):
            return None
        letters = look.steps[at] + look.axes[at].strip("1") if at < len(look.axes) else ""
        return "".join(letter for letter in _NAMES if letter in letters)

    def take(self, at: int, each: Any) -> bool:
        axis, step = self.look.axes[at], self.look.steps[at]
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

    def made(self) -> Plan | None:
        plan, (top, bottom), (left, right) = self.plan, self.parts["H"], self.parts["W"]
        recipe = plan.recipe
        assert recipe is not None and plan.steps is not None
        if bottom - top < 2 or right - left < 2:
            return None
        cut = (right - left, bottom - top) != recipe.size
        if cut:
            recipe = recipe.crop((left, top, right, bottom))
        calls = plan.steps.calls
        if self.axes != self.look.axes:
            calls = (*calls, call_of(_reshaped, (self.axes,), {}))
        look = self.look._replace(axes=self.axes, steps=tuple(self.steps), cut=self.look.cut or cut)
        sides = bottom - top, right - left, recipe.bands
        return Plan(recipe, (), Steps(plan.steps.begin, calls, look), (), look.shape(sides), look.dtype, plan.around)


def _reshaped(value: Any, axes: str) -> Any:
    """Axes of one put in or left out, as axes says, which has the others in their order."""
    sides = iter([side for side in value.shape if side != 1])
    return value.reshape([1 if axis == "1" else next(sides) for axis in axes])


def _basic(each: Any) -> bool:
    return each is None or each is Ellipsis or type(each) is int or type(each) is slice


_seen: dict[Any, Any] = {}  # by call, which is kept alive here


def _after(look: Look, bands: int, call: Call) -> Look | None:
    """How what an elementwise call gives lies: tried with a small sample, once."""
    key = (look, bands, call)
    if key not in _seen:
        if len(_seen) >= 1024:
            _seen.clear()
        _seen[key] = _try(look, bands, call)
    return _seen[key]


def _try(look: Look, bands: int, call: Call) -> Look | None:
    few = (*FEW, bands)
    sample = look.empty(few, (*_AROUND, bands) if look.cut else few)
    if "0" not in look.steps:  # torch fills no memory that lies over itself
        sample[...] = 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            after = call(sample)
    except Exception:
        return None  # to be raised, or said, by the real one
    return look_of(after, look, bands)


def look_of(after: Any, look: Look, bands: int) -> Look | None:
    """How a sample lies, of the sides in FEW, which holds what another one of that look did; None: in no way that is
    known here."""
    few = (*FEW, bands)
    if type(after) is not torch.Tensor:
        return None
    strides = after.stride()
    axes = "".join(_axis(side, bands) for side in after.shape)
    products = ("", "W", "H", "HW") if bands == 1 else ("", "C", "W", "H", "WC", "HC", "HW", "HWC")
    names = {_product(step, few): step for step in products}
    steps = tuple(names.get(step, "?") for step in strides)
    dense = sorted((step, side) for step, side in zip(strides, after.shape) if side != 1)
    size = 1
    for step, side in dense:
        if step != size:
            return None
        size *= side
    same = sorted(axes.replace("1", "")) == sorted(look.axes.replace("1", ""))
    return Look(axes, steps, after.dtype) if same and "?" not in (*steps, *axes) else None


def _axis(side: int, bands: int) -> str:
    return {1: "1", bands: "C" if bands > 1 else "1", FEW[0]: "H", FEW[1]: "W"}.get(side, "?")


class Family:
    """Those that look at the same memory, none of which is made yet."""

    def __init__(self, cell: Cell) -> None:
        self.plan = cell.plan
        self._cells: list[weakref.ref[Cell]] = []
        self.join(cell)

    def join(self, cell: Cell) -> None:
        self._cells.append(weakref.ref(cell))

    def living(self) -> list[Cell]:
        return [cell for cell in (seen() for seen in self._cells) if cell is not None and cell.family is self]


class Cell:
    """What a Later and its aliases share: the plan, then the value."""

    __slots__ = ("plan", "value", "family", "way", "__weakref__")

    def __init__(self, plan: Plan) -> None:
        self.plan: Plan | None = plan
        self.value: Any = None
        self.family: Family | None = None  # with those that see the same memory
        self.way: tuple[Callable[[Any], Any], ...] = ()  # from the family's first

    def view(self, plan: Plan, look: Callable[[Any], Any]) -> Cell:
        """Another one that looks at this one's memory."""
        if self.family is None or len(self.family.living()) == 1:
            self.way, self.family = (), Family(self)
        cell = Cell(plan)
        cell.family, cell.way = self.family, (*self.way, look)
        cell.family.join(cell)
        return cell

    def alone(self) -> bool:
        """Whether nothing else that is not made looks at the same memory."""
        return self.family is None or len(self.family.living()) == 1

    def change(self, plan: Plan | None) -> bool:
        """Have another plan, as something was written; False: others have to see that as well."""
        if plan is None or not self.alone():
            return False
        self.family, self.way, self.plan = None, (), plan
        return True

    def settle(self, value: Any) -> None:
        """Have its value."""
        self.value, self.plan, self.family, self.way = value, None, None, ()
