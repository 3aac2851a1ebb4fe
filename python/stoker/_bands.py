"""Single bands of arrays that wait, and what is put together of them again."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from . import _pictures
from ._job import idle, table_of
from ._pictures import Recipe
from ._plan import Call, Look, Plan, Steps, call_of

BYTES = np.dtype("uint8")
_WHOLE = slice(None)
_AXES = {"L": "HW", "RGB": "HWC"}
_TRANSPOSED = 5  # Pillow's number


def bytes_of(plan: Plan | None) -> Recipe | None:
    """The picture that an array of bytes is; None where it is another thing."""
    if plan is None or plan.tail or plan.recipe is None or plan.steps is None or plan.dtype != BYTES:
        return None
    recipe, axes = plan.recipe, plan.look.axes
    straight = _AXES.get(recipe.mode, "")
    if not plan.look.array or axes not in (straight, straight.replace("HW", "WH")):
        return None
    if not idle(recipe.bands, plan.steps):
        if "point" in _pictures.left:
            return None
        table = table_of(recipe.bands, plan.steps).numpy().tobytes()
        recipe = recipe.then("lut", base64.b64encode(table).decode())
    return recipe.copy() if axes == straight else recipe.transpose(_TRANSPOSED)


def look_of(bands: int, fixed: bool = False) -> Look:
    """How an array of its own lies."""
    axes, steps = ("HWC", ("WC", "C", "")) if bands > 1 else ("HW", ("W", ""))
    return Look(axes, steps, BYTES, True, fixed=fixed)


def plan_of(recipe: Recipe, fixed: bool = False) -> Plan:
    """An array of its own of a picture."""
    (width, height), bands, look = recipe.size, recipe.bands, look_of(recipe.bands, fixed)
    sides = height, width, bands
    return Plan(recipe, (), Steps(look, (), look), (), look.shape(sides), BYTES, sides)


def has_bands(recipe: Recipe) -> bool:
    """Whether its bands may wait, each by itself. Those of LAB are mostly for a cv2.CLAHE, which takes real arrays alone."""
    return recipe.mode == "RGB" and all(op[0] != "cv_lab" for op in recipe.ops)


def band_of(plan: Plan, keys: tuple[Any, ...]) -> Plan | None:
    """plan[:, :, number] or plan[..., number] of bytes: a look at a single band."""
    number = keys[-1]
    if type(number) is not int or keys[:-1] not in ((_WHOLE, _WHOLE), (Ellipsis,)) or not -3 <= number < 3:
        return None
    recipe = bytes_of(plan)
    if recipe is None or not has_bands(recipe):
        return None
    look = Look("HW", plan.look.steps[:2], BYTES, True, cut=True, fixed=plan.look.fixed)
    after = recipe.then("band", number % 3, mode="L")
    return Plan(after, (), Steps(look, (), look), (), plan.shape[:2], BYTES, plan.around)


def made(plan: Plan | None, call: Call, dtype: Any) -> Plan | None:
    """What a function that is known to work value by value makes, with numbers of that type, in memory of its own.
    None: it is to be tried."""
    if plan is None or plan.tail or plan.recipe is None or plan.steps is None or not {plan.dtype, dtype} <= _TABLES:
        return None
    recipe, look = plan.recipe, plan.look
    if not look.array or look.axes != _AXES.get(recipe.mode):
        return None
    (width, height), bands, after = recipe.size, recipe.bands, look_of(recipe.bands)._replace(dtype=dtype)
    steps = Steps(plan.steps.begin, (*plan.steps.calls, call), after)
    return Plan(recipe, (), steps, (), after.shape((height, width, bands)), dtype, (height, width, bands))


_TABLES = {BYTES, np.dtype("float32")}


class _Part(NamedTuple):
    """A band, and what is done to its values."""

    base: tuple[Any, ...]  # source, operations and size of the picture that it is of
    band: int
    points: bytes  # a table; empty: none
    calls: tuple[Call, ...]


def merged(plans: list[Plan | None], merge: Callable[[list[Any]], Any]) -> Plan | None:
    """Three bands of one picture side by side, as cv2.merge puts them; None where they are others."""
    parts = [_part_of(plan) for plan in plans]
    first = parts[0] if len(parts) == 3 else None
    if first is None or not all(part is not None and part.base == first.base for part in parts):
        return None
    bands = [part.band for part in parts if part is not None]
    source, ops, size = first.base
    recipe = Recipe(source, ops, "RGB", size)
    if bands == [2, 1, 0]:
        recipe = recipe.then("swap")
    elif bands != [0, 1, 2]:
        return None
    done = tuple((part.points, part.calls) for part in parts if part is not None)
    plan, dtypes = plan_of(recipe), {plan.dtype for plan in plans if plan is not None}
    if not any(points or calls for points, calls in done):
        return plan
    return made(plan, call_of(_merge, (done, merge), {}), dtypes.pop()) if len(dtypes) == 1 else None


def _part_of(plan: Plan | None) -> _Part | None:
    if plan is None or plan.tail or plan.recipe is None or plan.steps is None or plan.look.axes != "HW":
        return None
    *ops, last = plan.recipe.ops or ((),)
    points = b""
    if ops and last[0] == "lut":
        points = base64.b64decode(last[1])
        *ops, last = ops
    if not last or last[0] != "band":
        return None
    recipe = plan.recipe
    return _Part((recipe.source, tuple(ops), recipe.size), last[1], points, plan.steps.calls)


def _merge(value: Any, done: Any, merge: Any) -> Any:
    """Elementwise: each band by itself."""
    bands = []
    for number, (points, calls) in enumerate(done):
        band = value[:, :, number]
        band = np.frombuffer(points, np.uint8)[band] if points else band
        for call in calls:
            band = call(band)
        bands.append(band)
    return merge(bands)


def masked(plan: Plan | None, mask: Plan | None, new: float) -> Plan | None:
    """With a number where a mask says so, that was computed of the same picture; None where that is not so."""
    if plan is None or mask is None or plan.tail or mask.tail or mask.dtype not in _BOOLS or plan.look.fixed:
        return None
    if plan.recipe is None or mask.recipe is None or plan.steps is None or mask.steps is None:
        return None
    if _picture(plan.recipe) != _picture(mask.recipe) or plan.look.axes != mask.look.axes:
        return None
    if plan.steps.begin.axes != plan.look.axes or mask.steps.begin.axes != mask.look.axes:
        return None
    begin = plan.steps.begin
    bare = plan._replace(steps=Steps(begin, (), begin), dtype=begin.dtype)
    call = call_of(_put, (plan.steps.calls, mask.steps.calls, new), {})
    byte = plan.look.array and plan.dtype == BYTES and type(new) is int and 0 <= new < 256
    after = made(bare, call, BYTES) if byte else None
    if after is None or after.look != plan.look:
        after = bare.then(call)
    return after if after is not None and after.look == plan.look and after.shape == plan.shape else None


_BOOLS = {np.dtype("bool"), torch.bool}


def _picture(recipe: Recipe) -> tuple[Any, ...]:
    return recipe.source, recipe.ops, recipe.mode, recipe.size


def _put(value: Any, calls: tuple[Call, ...], asked: tuple[Call, ...], new: float) -> Any:
    mask = _copied(value)  # as some calls work in place
    for call in asked:
        mask = call(mask)
    for call in calls:
        value = call(value)
    value = _copied(value)
    value[mask] = new
    return value


def _copied(value: Any) -> Any:
    return value.copy("K") if isinstance(value, np.ndarray) else value.clone()
