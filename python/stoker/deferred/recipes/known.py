"""Functions of libraries whose text is known, and whether they are still in their places.

What stands for a function does what the function did when somebody read it. So it is used where the installed text is
one that was read, and while nobody has put anything else there.
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
    """Of what functions do: their arguments' names and their lines, without what documents them; "" where one is not as
    its file has it. Every version of Python gives the same."""
    return _digest(tuple((function, getattr(function, "__code__", None)) for function in functions))


@functools.lru_cache(16)
def _digest(functions: tuple[tuple[Any, Any], ...]) -> str:
    texts = [_text(function) for function, _ in functions]
    return hashlib.sha256("\n\n".join(texts).encode()).hexdigest()[:32] if all(texts) else ""


def _text(function: Any) -> str:
    if type(function) is not types.FunctionType or function.__closure__ or hasattr(function, "__wrapped__"):
        return ""
    code = function.__code__
    if function.__globals__.get("__file__") != code.co_filename:
        return ""
    return text_of(code, linecache.getlines(code.co_filename))


def text_of(code: types.CodeType, lines: list[str]) -> str:
    """Of a function's code in a file of these lines."""
    numbers = {number for *_, number in code.co_lines() if number}
    inside = numbers - {code.co_firstlineno} or numbers
    part = textwrap.dedent("".join(lines[min(inside) - 1 : max(inside)])).splitlines()
    plain = [line.rstrip() for line in part if line.strip() and not line.lstrip().startswith("#")]
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return "\n".join([*names, *plain]) if plain else ""


class Places:
    """Functions and classes where they are: by their owners, and by names with dots; what is not there is left out."""

    def __init__(self, *places: tuple[Any, str]) -> None:
        self._places = [(owner, operator.attrgetter(*there(owner, names))) for owner, names in places]
        self._there = self._found()
        self._codes = self._code()

    def _found(self) -> list[Any]:
        return [get(owner) for owner, get in self._places]

    def _code(self) -> list[Any]:
        found = [each for part in self._there for each in (part if type(part) is tuple else (part,))]
        return [getattr(each, "__code__", None) for each in found]

    def unchanged(self) -> bool:
        """Whether the same ones are there."""
        try:
            return self._found() == self._there
        except AttributeError:
            return False

    def same_code(self) -> bool:
        """Whether they have the code that they had."""
        return self._code() == self._codes


def there(owner: Any, names: str) -> list[str]:
    """Those that it has, as libraries of other versions lack some."""
    return [name for name in names.split() if _has(owner, name)]


def _has(owner: Any, name: str) -> bool:
    try:
        operator.attrgetter(name)(owner)
        return True
    except AttributeError:
        return False
