"""The tables of albucore, which albumentations works with: bytes that are looked up by stringzilla, in C, or band by band."""

from __future__ import annotations

import inspect
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np

from . import _arrays, _bands
from ._known import digest
from ._pictures import replace
from ._plan import call_of

_FUNCTIONS = "albucore.functions"  # the module
_BY_BANDS = "albucore.lut", "_apply_float_lut_per_channel_loop"
#: Digest of the latter's statements in albucore 0.2.21, which albumentationsx 2.5 brings.
_KNOWN = "8dc9d6ec2e2515de9acb860feb85608d"


def is_there() -> bool:
    return hasattr(sys.modules.get(_FUNCTIONS), "sz_lut")


def install() -> None:
    """Have tables of arrays that wait be kept for later."""
    function = inspect.unwrap(sys.modules[_FUNCTIONS].sz_lut)
    home = SimpleNamespace(__file__=function.__code__.co_filename, sz_lut=function)
    if list(inspect.signature(function).parameters) == ["img", "lut", "inplace"]:
        replace(home, "sz_lut", _look_up)
    module, name = _BY_BANDS
    if digest(getattr(sys.modules.get(module), name, None)) == _KNOWN:
        replace(sys.modules[module], name, _look_up_bands)


def _look_up(original: Any, img: Any, lut: Any, inplace: Any = True) -> Any:
    plain = type(lut) is np.ndarray and lut.dtype == np.uint8 and lut.shape == (256,) and lut.flags.c_contiguous
    if plain and type(inplace) is bool and _arrays.waits(img) and img.dtype == np.uint8:
        call = call_of(_taken, (lut,), {})
        plan = None if inplace else _bands.made(img.cell.plan, call, lut.dtype)
        after = _arrays.changed(img, call, inplace) if plan is None else _arrays.later_of(plan)
        if after is not None:
            return after
    return _arrays.same(original, img, lut, inplace)


def _look_up_bands(original: Any, img: Any, lut: Any) -> Any:
    """Its own writes each band into memory of the picture's size: cv2.merge has the same values lie the same way."""
    straight = _arrays.waits(img) and img.shape[2:] == (3,) and img.cell.plan is not None and img.cell.plan.look.axes == "HWC"
    if not straight or type(lut) is not np.ndarray or lut.shape != (256, 1, 3):
        return original(img, lut)
    cv2: Any = sys.modules["cv2"]
    return cv2.merge([cv2.LUT(img[..., band], lut[:, 0, band]) for band in range(3)])


def _taken(value: Any, lut: Any) -> Any:
    return lut[value]
