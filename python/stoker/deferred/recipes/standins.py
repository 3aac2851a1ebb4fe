"""Functions of libraries that do something else while a fetch is under way.

A fetch begins by binding the names of such a function to its stand-in, and ends by binding them to the function again,
so that between fetches nothing of ours is seen. A stand-in has the globals, the signature and the source of its
function: TorchScript, torch.compile and inspect take it for that. Names are bound, and never code: a reference that lies
elsewhere, such as in a partial, calls the library's own function.
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

_rows: list[tuple[Any, Any]] = []  # functions and their stand-ins
_names: list[tuple[dict[str, Any], str, Any, Any]] = []  # where a function is bound, the function, its stand-in
_cells: list[tuple[types.CellType, Any, Any]] = []  # the same of variables of other functions
_searched: set[str] = set()  # modules that were searched for names
_lock = threading.Lock()
_fetches = 0  # that are under way

#: Packages that bind no function of torchvision's or Pillow's, and have most of a program's modules.
_OTHERS = ("torch", "numpy", "scipy", "pandas", "sympy", "triton", "stoker", *sys.stdlib_module_names)


def stand_in(function: types.FunctionType, ours: Callable[..., Any]) -> Any:
    """A function that calls ours, with the function as its first argument, and looks like the function."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return ours(function, *args, **kwargs)

    code = function.__code__
    seen = call.__code__.replace(co_name=code.co_name, co_filename=code.co_filename, co_firstlineno=code.co_firstlineno)
    made = types.FunctionType(seen, function.__globals__, function.__name__, None, call.__closure__)
    return functools.update_wrapper(made, function)


def replace(module: Any, name: str, ours: Callable[..., Any]) -> None:
    """Have a function of a module's own do something else within a fetch.

    ours gets the function as its first argument. A function that somebody has put in the module's is left alone.
    """
    function = getattr(module, name, None)
    if not is_own(function, module) or replaces(module, name):
        return
    with _lock:
        _bind(False)
        _rows.append((function, stand_in(function, ours)))
        _searched.clear()
        if _fetches:
            _search()
            _bind(True)


def replaces(module: Any, *names: str) -> bool:
    """Whether there are stand-ins for all of these."""
    functions = [function for function, _ in _rows] + [stand for _, stand in _rows]
    return all(any(getattr(module, name, None) is each for each in functions) for name in names)


def is_own(function: Any, module: Any) -> bool:
    """Whether a function is defined in the module: nobody has put something else in its place."""
    return getattr(getattr(function, "__code__", None), "co_filename", None) == module.__file__


def clear() -> None:
    """Forget all stand-ins."""
    _bind(False)
    for each in (_rows, _names, _cells, _searched):
        each.clear()


@contextlib.contextmanager
def placed() -> Iterator[None]:
    """The stand-ins are in place within."""
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


def _bind(stand: bool) -> None:
    """Bind to the stand-ins, or to the functions, what nobody has bound to something else."""
    for names, name, function, other in _names:
        before, after = (function, other) if stand else (other, function)
        if names.get(name) is before:
            names[name] = after
    for cell, function, other in _cells:
        before, after = (function, other) if stand else (other, function)
        if cell.cell_contents is before:
            cell.cell_contents = after


def _search() -> None:
    """Find where functions are bound in modules that were imported since the last search. No stand-in is in place."""
    new = sys.modules.keys() - _searched
    if not new or not _rows:
        return
    if not _searched:
        _names.clear()
        _cells.clear()
        _search_kernels()
    stands = {id(function): (function, stand) for function, stand in _rows}
    _searched.update(new)
    for module in new:
        if module.partition(".")[0] in _OTHERS:
            continue
        names = getattr(sys.modules[module], "__dict__", None)
        for name, value in list(names.items()) if type(names) is dict else ():
            if id(value) in stands:
                _names.append((names, name, *stands[id(value)]))


def _search_kernels() -> None:
    """Find functions in the table by which torchvision's v2 calls them, or in what is wrapped around them there."""
    table = getattr(sys.modules.get("torchvision.transforms.v2.functional._utils"), "_KERNEL_REGISTRY", {})
    stands = {id(function): (function, stand) for function, stand in _rows}
    for kernels in table.values():
        for kind, kernel in kernels.items():
            if id(kernel) in stands:
                _names.append((kernels, kind, *stands[id(kernel)]))
            for cell in getattr(kernel, "__closure__", None) or ():
                if id(cell.cell_contents) in stands:
                    _cells.append((cell, *stands[id(cell.cell_contents)]))


def _forked() -> None:
    """In a forked child a fetch of the parent's is not under way."""
    global _fetches, _lock
    _lock = threading.Lock()
    if _fetches:
        _fetches = 0
        _bind(False)


os.register_at_fork(after_in_child=_forked)
