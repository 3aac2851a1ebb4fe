"""Functions that are given samples of a stream: a loader's collate function, and the stages of webdataset.

A stream cannot be asked for a sample again, so arrays of its pictures may wait only between functions that can be: each
is asked once more, with real arrays and the same random numbers, where it does not take one that waits.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch

from . import _arrays
from ._pictures import Recipe, Recording, put, recording, undoing
from ._verify import restore, states

_FILTERS, _PIPELINE = "webdataset.filters", "webdataset.pipeline"
#: Stages of webdataset that pass samples on, with what each is given that is somebody's own function.
_STAGES: dict[str, Callable[[dict[str, Any]], list[Any]]] = {
    "_map": lambda own: [own["f"]],
    "_map_tuple": lambda own: list(own["args"]),
    "_map_dict": lambda own: list(own["kw"].values()),
    "_select": lambda own: [own["predicate"]],
    "_batched": lambda own: [own["collation_fn"]],
    "_to_tuple": lambda own: [],
    "_shuffle": lambda own: [],
}
_known: dict[Any, Callable[[dict[str, Any]], list[Any]]] = {}  # the same by their code
_passing: set[Any] = set()  # further code that passes samples on
_IDLE: list[Any] = [None]  # what stands there for no function


class Gathering:
    """A loader's collate function, to which all samples of a batch are given."""

    def __init__(self, collate: Callable[[Any], Any]) -> None:
        self._collate = collate

    def __call__(self, samples: Any) -> Any:
        found = recording()
        if found is None:
            return self._collate(samples)
        found.gathered, found.staged = True, found.stream
        return _asked(self._collate, samples, found) if found.stream else self._collate(samples)


class Staged:
    """A function of a stage: arrays may wait while it is at work, where all behind it can be asked again as well."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __call__(self, sample: Any) -> Any:
        found = recording()
        if found is None or not found.stream:
            return self.function(_arrays.settled(sample))
        before, found.staged = found.staged, _may_wait(sys._getframe(1))
        try:
            return _asked(self.function, sample, found)
        finally:
            found.staged = before


def _asked(function: Callable[[Any], Any], value: Any, found: Recording) -> Any:
    """What a function gives; where it fails with an array that waits, once more without."""
    if _arrays.refused():
        return function(_arrays.real(value))
    value = _arrays.settled(value)
    found.waited = _arrays.waiting(value)
    if not found.waited and (found.still or not found.staged):
        return function(value)  # in which none waits
    kept, before = _contents(value), states()
    try:
        result = function(value)
        if not found.sequence:
            return result
        why = "an array that is not made yet is no sequence"
    except Exception as error:
        if not found.waited:
            raise
        why = f"{type(error).__name__} ({str(error):.200})"
    restore(before)
    for holder, content in kept:
        holder.clear()
        holder.update(content) if type(holder) is dict else holder.extend(content)
    found.sequence, staged, found.staged = False, found.staged, False
    try:
        result = function(_arrays.real(value))  # out here, so that an error of its own has none of ours behind it
    finally:
        found.staged = staged
    consequence = _arrays.refuse(found)
    found.saying(f"{why} where arrays waited, and none without: from here on {consequence}")
    return result


def hand_out(value: Any, deep: int = 8) -> None:
    """Have the pictures of a batch made."""
    if isinstance(value, sys.modules["PIL.Image"].Image):
        if type(value._im) is Recipe:
            value._im.make()
    elif deep and not isinstance(value, (str, bytes, torch.Tensor)):
        inside = value if isinstance(value, (dict, list, tuple)) else getattr(value, "__dict__", ())
        for each in list(inside.values() if isinstance(inside, dict) else inside):
            hand_out(each, deep - 1)


def _contents(value: Any, deep: int = 2) -> list[tuple[Any, Any]]:
    """What lies in lists and dictionaries, that a function may change."""
    found: list[tuple[Any, Any]] = []
    if type(value) in (dict, list):
        found.append((value, value.copy()))
    if deep and type(value) in (dict, list, tuple):
        for each in value.values() if type(value) is dict else value:
            found += _contents(each, deep - 1)
    return found


def _may_wait(frame: Any) -> bool:
    """Whether all that goes on between here and the loader passes samples on, and has functions that can be asked
    again."""
    while frame is not None:
        own = _known.get(frame.f_code)
        if own is not None:
            seen = frame.f_locals
            functions = own(seen)
            if type(seen) is dict:  # before Python 3.13 a copy that the frame keeps, and the samples in it with it
                seen.clear()
            if not all(type(each) is Staged or each in _IDLE for each in functions):
                return False
        elif frame.f_code not in _passing:
            return frame.f_code.co_name == "fetch" and frame.f_globals.get("__name__") == "torch.utils.data._utils.fetch"
        frame = frame.f_back
    return False


def install() -> None:
    """See what webdataset's stages are given, once that has been imported."""
    filters, pipeline = sys.modules.get(_FILTERS), sys.modules.get(_PIPELINE)
    if filters is None or pipeline is None or _known:
        return
    kind, iterator = getattr(filters, "FilterFunction", None), getattr(getattr(pipeline, "DataPipeline", None), "iterator", None)
    found = {name: getattr(filters, name, None) for name in _STAGES}
    if not all(hasattr(each, "__code__") for each in (*found.values(), iterator)) or "__call__" not in vars(kind or object):
        return
    _known.update({each.__code__: _STAGES[name] for name, each in found.items()})
    _passing.add(iterator.__code__)
    _IDLE[1:] = [getattr(getattr(filters, "utils", None), "identity", None)]
    undoing(_known.clear)
    put(kind, "__call__", _call_in_place_of(kind.__call__, {id(each): name for name, each in found.items()}))


def _call_in_place_of(original: Any, names: dict[int, str]) -> Any:
    @functools.wraps(original)
    def __call__(self: Any, data: Any) -> Any:
        if names.get(id(self.f)) in ("_map", "_map_tuple", "_map_dict", "_select", "_batched"):
            return self.f(data, *map(_staged, self.args), **{name: each if name == "handler" else _staged(each) for name, each in self.kw.items()})
        return original(self, data)

    return __call__


def _staged(value: Any) -> Any:
    return Staged(value) if callable(value) and not isinstance(value, Staged) else value
