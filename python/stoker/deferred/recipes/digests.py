"""Digests of library functions, and checks that they are in place.

A replacement does what its function did in the versions that were read. So it is used only if the
installed source has a known digest, and while the function is in place.
"""

from __future__ import annotations

import functools
import hashlib
import linecache
import operator
import textwrap
import types
from typing import Any


def digest(*functions: Any) -> str:
    """Return a digest of functions: their arguments' names and their lines, without docstrings.

    It is the same in every version of Python, and "" if a function is not as its file has it.
    """
    return _digest(tuple((function, getattr(function, "__code__", None)) for function in functions))


@functools.lru_cache(16)
def _digest(functions: tuple[tuple[Any, Any], ...]) -> str:
    texts = [_read_text(function) for function, _ in functions]
    return hashlib.sha256("\n\n".join(texts).encode()).hexdigest()[:32] if all(texts) else ""


def _read_text(function: object) -> str:
    if type(function) is not types.FunctionType or function.__closure__ or hasattr(function, "__wrapped__"):
        return ""
    code = function.__code__
    if function.__globals__.get("__file__") != code.co_filename:
        return ""
    return extract_text(code, linecache.getlines(code.co_filename))


def extract_text(code: types.CodeType, lines: list[str]) -> str:
    """Return a function's source, from its code and its file's lines."""
    numbers = {number for *_, number in code.co_lines() if number}
    inside = numbers - {code.co_firstlineno} or numbers
    part = textwrap.dedent("".join(lines[min(inside) - 1 : max(inside)])).splitlines()
    plain = [line.rstrip() for line in part if line.strip() and not line.lstrip().startswith("#")]
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return "\n".join([*names, *plain]) if plain else ""


class Places:
    """Functions and classes as they were at the start, each by its owner and a dotted name."""

    def __init__(self, *places: tuple[Any, str]) -> None:
        self._places = [(owner, operator.attrgetter(*list_existing(owner, names))) for owner, names in places]
        self._objects = self._find_objects()
        self._codes = self._code()

    def _find_objects(self) -> list[Any]:
        return [get(owner) for owner, get in self._places]

    def _code(self) -> list[Any]:
        found = [each for part in self._objects for each in (part if type(part) is tuple else (part,))]
        return [getattr(each, "__code__", None) for each in found]

    def is_unchanged(self) -> bool:
        """Whether the same objects are in place."""
        try:
            return self._find_objects() == self._objects
        except AttributeError:
            return False

    def has_same_code(self) -> bool:
        """Whether they still have the same code."""
        return self._code() == self._codes


def list_existing(owner: object, names: str) -> list[str]:
    """Return the names that an owner has: other versions of a library lack some."""
    return [name for name in names.split() if _has(owner, name)]


def _has(owner: object, name: str) -> bool:
    try:
        operator.attrgetter(name)(owner)
        return True
    except AttributeError:
        return False
