"""Replaces functions of libraries while a fetch runs.

When a fetch begins, all names bound to such a function are bound to its replacement; when it ends,
they are bound back. Between fetches the library is unchanged. A replacement has the globals,
signature and source of its function, so TorchScript, torch.compile and inspect see no difference.
Only names are rebound: a reference in a functools.partial still calls the original.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

_replacements: list[tuple[Any, Any]] = []  # functions and their replacements
_bindings: list[tuple[dict[str, Any], str, Any, Any]] = []  # a namespace, a name in it, the function, its replacement
_cells: list[tuple[types.CellType, Any, Any]] = []  # closure cells that hold a function, the function, its replacement
_searched: set[str] = set()  # modules already searched for bindings
_lock = threading.Lock()
_fetches = 0  # number of running fetches

#: Packages that bind no function of torchvision or Pillow. They make up most modules of a program.
_OTHERS = ("torch", "numpy", "scipy", "pandas", "sympy", "triton", "stoker", *sys.stdlib_module_names)


def make_replacement(function: types.FunctionType, ours: Callable[..., Any]) -> Any:
    """Return a function with the appearance of this one, which calls ours with it as first argument."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return ours(function, *args, **kwargs)

    code = function.__code__
    seen = call.__code__.replace(co_name=code.co_name, co_filename=code.co_filename, co_firstlineno=code.co_firstlineno)
    result = types.FunctionType(seen, function.__globals__, function.__name__, None, call.__closure__)
    return functools.update_wrapper(result, function)


def replace(module: types.ModuleType, name: str, ours: Callable[..., Any]) -> None:
    """Replace a module's own function during fetches; ours gets it as first argument.

    A function that somebody else has replaced is left alone.
    """
    function = getattr(module, name, None)
    if not is_own(function, module) or has_replacements(module, name):
        return
    with _lock:
        _bind(False)
        _replacements.append((function, make_replacement(function, ours)))
        _searched.clear()
        if _fetches:
            _search()
            _bind(True)


def has_replacements(module: types.ModuleType, *names: str) -> bool:
    """Whether all of these functions have replacements."""
    functions = [function for function, _ in _replacements] + [replacement for _, replacement in _replacements]
    return all(any(getattr(module, name, None) is each for each in functions) for name in names)


def is_own(function: object, module: types.ModuleType) -> bool:
    """Whether a function is defined in the module's own file."""
    return getattr(getattr(function, "__code__", None), "co_filename", None) == module.__file__


def clear() -> None:
    """Forget all replacements."""
    _bind(False)
    for each in (_replacements, _bindings, _cells, _searched):
        each.clear()


@contextlib.contextmanager
def replacing() -> Iterator[None]:
    """Put the replacements in place within this context."""
    global _fetches
    with _lock:
        _fetches += 1
        if _fetches == 1:
            _search()
            _bind(True)
    try:
        yield
    finally:
        with _lock:
            _fetches -= 1
            if not _fetches:
                _bind(False)


def _bind(replace: bool) -> None:
    """Bind names to the replacements or back, except names that somebody else has rebound."""
    for names, name, function, other in _bindings:
        before, after = (function, other) if replace else (other, function)
        if names.get(name) is before:
            names[name] = after
    for cell, function, other in _cells:
        before, after = (function, other) if replace else (other, function)
        if cell.cell_contents is before:
            cell.cell_contents = after


def _search() -> None:
    """Find bindings in modules that were imported since the last search. No replacement is in
    place."""
    new = sys.modules.keys() - _searched
    if not new or not _replacements:
        return
    if not _searched:
        _bindings.clear()
        _cells.clear()
        _search_kernels()
    replaced = {id(function): (function, replacement) for function, replacement in _replacements}
    _searched.update(new)
    for module in new:
        if module.partition(".")[0] in _OTHERS:
            continue
        names = getattr(sys.modules[module], "__dict__", None)
        for name, value in list(names.items()) if type(names) is dict else ():
            if id(value) in replaced:
                _bindings.append((names, name, *replaced[id(value)]))


def _search_kernels() -> None:
    """Find functions in the table by which torchvision's v2 dispatches, and in wrappers in that
    table."""
    table = getattr(sys.modules.get("torchvision.transforms.v2.functional._utils"), "_KERNEL_REGISTRY", {})
    replaced = {id(function): (function, replacement) for function, replacement in _replacements}
    for kernels in table.values():
        for kind, kernel in kernels.items():
            if id(kernel) in replaced:
                _bindings.append((kernels, kind, *replaced[id(kernel)]))
            for cell in getattr(kernel, "__closure__", None) or ():
                if id(cell.cell_contents) in replaced:
                    _cells.append((cell, *replaced[id(cell.cell_contents)]))


def _reset_after_fork() -> None:
    """Bind back in a forked child: the parent's fetch does not run there."""
    global _fetches, _lock
    _lock = threading.Lock()
    if _fetches:
        _fetches = 0
        _bind(False)


os.register_at_fork(after_in_child=_reset_after_fork)
