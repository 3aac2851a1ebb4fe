"""New arrays of one number that wait for pictures to be laid in, as a letterbox is written:

    padded = np.full((416, 416, 3), 114, dtype=np.uint8)
    padded[:height, :width] = image

Only that of a call waits whose array the program's code assigns to next, and only as long as that brings pictures. It
counts as made: whoever looks at it before gets NumPy's own.
"""

from __future__ import annotations

import dis
import warnings
from types import CodeType
from typing import Any

import numpy as np

from . import _pictures
from ._bands import BYTES, bytes_of, look_of, plan_of
from ._canvas import MOST, SIDE, laid
from ._pictures import Recipe
from ._plan import Cell, Plan

_PARAMETERS = {"zeros": ("shape", "dtype"), "ones": ("shape", "dtype"), "full": ("shape", "fill_value", "dtype")}
_zeros, _full = np.zeros, np.full
_MISSES = 2  # of a call one after the other, then its arrays wait no more
_WHOLE = slice(None)


class Place:
    """Where a program calls for such arrays."""

    __slots__ = ("code", "chances")

    def __init__(self, code: CodeType, at: int) -> None:
        self.code = code
        self.chances = _MISSES if lays(code, at) else 0


_places: dict[tuple[int, int], Place] = {}  # by code, which is kept alive there, and instruction


class Blank(Cell):
    """Of an array that nobody has looked at."""

    __slots__ = ("mode", "size", "fill", "place", "array")

    def __init__(self, mode: str, size: tuple[int, int], fill: list[int], place: Place) -> None:
        self.plan, self.family, self.way = None, None, ()
        self.mode, self.size, self.fill, self.place = mode, size, fill, place
        self.array: Any = None

    @property
    def value(self) -> Any:  # type: ignore[override]
        """The array itself, in which nothing has been laid."""
        with _pictures.lock:
            if self.array is None:
                self.place.chances -= 1
                (width, height), plain = self.size, len({*self.fill}) == 1
                shape = (height, width) if self.mode == "L" else (height, width, 3)
                fill: Any = self.fill[0] if plain else self.fill
                self.array = _zeros(shape, np.uint8) if fill == 0 else _full(shape, fill, np.uint8)
            return self.array

    def after(self, ufunc: Any, other: Any, turned: bool) -> Blank | None:
        """What NumPy makes of it with a number, or with one for each band; None: it needs the real array."""
        number = isinstance(other, (int, float, np.number))
        if self.array is not None or not number and (type(other) is not np.ndarray or other.shape != (3,) or self.mode == "L"):
            return None
        sample = np.array(self.fill, np.uint8)
        try:
            with warnings.catch_warnings(), np.errstate(all="raise"):
                warnings.simplefilter("error")
                made = ufunc(other, sample) if turned else ufunc(sample, other)
        except Exception:
            return None  # to be raised, or said, by the real one
        return Blank(self.mode, self.size, made.tolist(), self.place) if made.dtype == BYTES else None

    def lie_under(self) -> Blank | None:
        """It, where nobody has looked at it."""
        return self if self.array is None else None


def blank_of(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], frame: Any) -> Blank | None:
    """What a call of NumPy's function of that name for bytes gives, where a picture is laid into it next."""
    place = _place_of(frame)
    if place.chances <= 0:
        return None
    names = _PARAMETERS[name]
    given = {**dict(zip(names, args)), **kwargs}
    if len(args) + len(kwargs) != len(names) or given.keys() != {*names}:
        return None
    sides = _sides_of(given["shape"])
    if len(sides) not in (2, 3) or sides[2:] not in ([], [3]):
        return None
    (height, width), bands = sides[:2], 1 if len(sides) == 2 else 3
    fill = [int(name == "ones")] * bands if name != "full" else _numbers(given["fill_value"], bands)
    if fill is None or not all(2 <= side < SIDE for side in (height, width)) or height * width > MOST:
        return None
    return Blank("L" if bands == 1 else "RGB", (width, height), fill, place)


def _sides_of(shape: Any) -> list[int]:
    """The sides; none where they are other than whole numbers."""
    plain = type(shape) in (tuple, list) and all(type(side) is int or isinstance(side, np.integer) for side in shape)
    return list(map(int, shape)) if plain else []


def _numbers(fill: Any, bands: int) -> list[int] | None:
    """One for each band, of what a byte has; None where it is another thing."""
    values = list(fill) if type(fill) in (tuple, list) else [fill] * bands
    plain = len(values) == bands and all(type(each) is int or isinstance(each, np.integer) for each in values)
    return list(map(int, values)) if plain and all(0 <= each <= 255 for each in values) else None


def lay(cell: Cell, key: Any, part: Plan | None) -> Plan | None:
    """How an array is made with a picture at that place in it; None: the real ones are assigned."""
    recipe = bytes_of(part)
    under = (cell.lie_under() if type(cell) is Blank else _own(cell)) if recipe is not None else None
    if recipe is None or under is None or under.mode != recipe.mode or "expand" in _pictures.left:
        return None
    at = _corner(key, under.size, recipe)
    made = None if at is None else laid(under, recipe, *at)
    if made is None:
        return None
    if type(cell) is Blank:
        cell.place.chances = _MISSES
    return plan_of(made)


def _own(cell: Cell) -> Recipe | None:
    """What lies in an array that waits, whose memory is its own."""
    recipe = bytes_of(cell.plan) if not cell.way and cell.alone() else None
    return recipe if recipe is not None and cell.plan is not None and cell.plan.look == look_of(recipe.bands) else None


def _corner(key: Any, size: tuple[int, int], recipe: Recipe) -> tuple[int, int] | None:
    """The left upper corner of a rectangle that the picture fills; None where the key is another one."""
    keys, rank = key if type(key) is tuple else (key,), 2 if recipe.mode == "L" else 3
    dots = [at for at, each in enumerate(keys) if each is Ellipsis]
    if len(dots) > 1 or len(keys) - len(dots) > rank:
        return None
    at = dots[0] if dots else len(keys)
    full = (*keys[:at], *[_WHOLE] * (rank - len(keys) + len(dots)), *keys[at + 1 :])
    if not all(map(_plain, full)):
        return None
    (width, height), (wide, high) = size, recipe.size
    spans = [each.indices(side) for each, side in zip(full, (height, width, 3))]
    if [stop - start for start, stop, _ in spans] != [high, wide, 3][:rank]:
        return None
    return spans[1][0], spans[0][0]


def _plain(each: Any) -> bool:
    """Whether it is a slice of one by one, of whole numbers."""
    if type(each) is not slice or each.step not in (None, 1):
        return False
    return all(end is None or type(end) is int or isinstance(end, np.integer) for end in (each.start, each.stop))


# What the program does next.


def _place_of(frame: Any) -> Place:
    code, at = frame.f_code, frame.f_lasti
    found = _places.get((id(code), at))
    if found is None:
        if len(_places) >= 1024:
            _places.clear()
        found = _places[id(code), at] = Place(code, at)
    return found


def lays(code: CodeType, at: int) -> bool:
    """Whether a call's result, or arithmetic of it, gets a name, under which something that is no constant is assigned
    to a part of it before anything else."""
    steps = [each for each in dis.get_instructions(code) if each.offset > at]
    stored = next((i for i, each in enumerate(steps) if not each.opname.startswith(("LOAD_", "BINARY_"))), _FAR)
    if stored >= _FAR or not steps[stored].opname.startswith(("STORE_FAST", "STORE_DEREF")):
        return False
    name = _names(steps[stored])[0]
    for number, step in enumerate(steps[stored:]):
        loaded = _names(step)[step.opname.startswith("STORE_FAST_LOAD") :] if _loads(step) else []
        if name in loaded:
            constant = loaded[0] == name and steps[stored + number - 1].opname in ("LOAD_CONST", "LOAD_SMALL_INT")
            return not constant and _assigned(steps[stored + number + 1 :], len(loaded) - 1 - loaded.index(name))
    return False


_FAR = 5  # instructions between a call and the name
_STORES = {"STORE_SUBSCR": 1, "STORE_SLICE": 2}  # and how much lies above what they store into


def _names(step: Any) -> list[Any]:
    return list(step.argval) if type(step.argval) is tuple else [step.argval]


def _loads(step: Any) -> bool:
    return step.opname.startswith(("LOAD_FAST", "LOAD_DEREF", "STORE_FAST_LOAD"))


def _assigned(steps: list[Any], above: int) -> bool:
    """Whether it is assigned to a part of what lies below so much on the stack."""
    for step in steps:
        if step.opname in _STORES:
            return above == _STORES[step.opname]
        if step.opcode in dis.hasjrel or step.opcode in dis.hasjabs:
            return False
        try:
            above += dis.stack_effect(step.opcode, step.arg, jump=False)
        except ValueError:  # one that this version of dis does not know
            return False
        if above < 0:
            return False
    return False
