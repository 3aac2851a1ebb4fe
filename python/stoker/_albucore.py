"""The tables of albucore, which albumentations works with: bytes that are looked up by stringzilla, in C."""

from __future__ import annotations

import inspect
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np

from . import _arrays, _bands
from ._pictures import replace
from ._plan import call_of

_FUNCTIONS = "albucore.functions"  # the module


def is_there() -> bool:
    return hasattr(sys.modules.get(_FUNCTIONS), "sz_lut")


def install() -> None:
    """Have tables of arrays that wait be kept for later."""
    function = inspect.unwrap(sys.modules[_FUNCTIONS].sz_lut)
    home = SimpleNamespace(__file__=function.__code__.co_filename, sz_lut=function)
    if list(inspect.signature(function).parameters) == ["img", "lut", "inplace"]:
        replace(home, "sz_lut", _look_up)


def _look_up(original: Any, img: Any, lut: Any, inplace: Any = True) -> Any:
    plain = type(lut) is np.ndarray and lut.dtype == np.uint8 and lut.shape == (256,) and lut.flags.c_contiguous
    if plain and type(inplace) is bool and _arrays.waits(img) and img.dtype == np.uint8:
        call = call_of(_taken, (lut,), {})
        plan = None if inplace else _bands.made(img.cell.plan, call, lut.dtype)
        after = _arrays.changed(img, call, inplace) if plan is None else _arrays.later_of(plan)
        if after is not None:
            return after
    return _arrays.same(original, img, lut, inplace)


def _taken(value: Any, lut: Any) -> Any:
    return lut[value]
