"""What the program has set in its modules. A forked worker has it; a worker elsewhere imports them anew.

    import config, PIL.ImageFile
    config.SIZE = arguments.size                     # of the program's own modules: all values, also of classes
    PIL.ImageFile.LOAD_TRUNCATED_IMAGES = True       # of others: public numbers and functions of the program
"""

from __future__ import annotations

import contextlib
import functools
import importlib.abc
import importlib.machinery
import io
import os
import sys
import sysconfig
import types
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from .packing import cloudpickle

_OURS = __name__.partition(".")[0]
_MAIN = "__main__"  # sent by value
_MOST = 16 << 20  # bytes [J] of a module's values: larger ones are data, which importing it makes again
#: Packages whose numbers describe this machine and process.
_OF_A_PROCESS = {"torch", "numpy", "ray", "google", "grpc", "multiprocess", "psutil", "sitecustomize", "usercustomize"}
#: Types that mean the same elsewhere, by their package. The program's own count as well.
_PORTABLE = {"builtins", "collections", "types", "argparse", "random", "pathlib", "enum", "datetime", "decimal", "fractions", "functools", "operator", "numpy"}
_PORTABLE |= {"torch", "omegaconf", "yacs", "easydict", "ml_collections", "copyreg", "codecs"}
_NUMBERS = (bool, int, float, type(None))
_SYSTEM = tuple(os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib"))
_SITES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")

#: By module: names and values; by the name of a class, and then of an attribute, as well.
State = dict[str, bytes]


def collect(only_own: bool = False) -> State:
    """Return what the modules of this process hold, as far as it can be sent; of the program's own modules if only_own."""
    found = {}
    for name, module in list(sys.modules.items()):
        package = name.partition(".")[0]
        file = getattr(module, "__file__", None)
        ours = package == _OURS or package.startswith(("stoker", "_stoker"))
        if ours or name == _MAIN or package in _OF_A_PROCESS or not isinstance(file, str) or not isinstance(module, types.ModuleType):
            continue
        whose = _whose(file)
        values = _read_own(module) if whose == "own" else _read_other(module) if whose == "site" and not only_own else None
        if values:
            found[name] = cloudpickle.dumps(values)
    return found


def take_over(state: State) -> None:
    """Set what another process collected: in modules that are here, and in others once they are imported."""
    for name in [name for name in state if name in sys.modules]:
        _set(sys.modules[name], state[name])
    sys.meta_path.insert(0, _Finder({name: values for name, values in state.items() if name not in sys.modules}))


@functools.lru_cache(maxsize=None)
def _whose(file: str) -> str:
    """Return "own" for a file of the program's, "site" for an installed one, "" for Python's."""
    path = os.path.realpath(file)
    if any(part in path for part in _SITES):
        return "site"
    return "own" if path.endswith(".py") and not path.startswith(_SYSTEM) else ""


def _read_own(module: types.ModuleType) -> dict[tuple[str, ...], Any]:
    found: dict[tuple[str, ...], Any] = {}
    for name, value in list(vars(module).items()):
        if isinstance(value, type):
            if value.__module__ == module.__name__:
                found.update(((name, attribute), held) for attribute, held in list(vars(value).items()) if _is_set(attribute, held, module))
        elif _is_set(name, value, module):
            found[(name,)] = value
    return {place: value for place, value in found.items() if _can_be_sent(value)}


def _is_set(name: str, value: Any, module: types.ModuleType) -> bool:
    """Whether importing the module may give it another value."""
    if isinstance(value, types.FunctionType):
        return value.__module__ != module.__name__
    return not (name.startswith("__") or isinstance(value, types.ModuleType) or hasattr(type(value), "__get__"))


def _read_other(module: types.ModuleType) -> dict[tuple[str, ...], Any]:
    return {
        (name,): value
        for name, value in list(vars(module).items())
        if not name.startswith("_") and (type(value) in _NUMBERS or (isinstance(value, types.FunctionType) and value.__module__ == _MAIN and _can_be_sent(value)))
    }


class _Pickler(cloudpickle.Pickler):
    """Refuses what another process cannot use, before it is touched: devices, files, connections."""

    def reducer_override(self, thing: Any) -> Any:
        kind = thing if isinstance(thing, type) else type(thing)
        file = getattr(sys.modules.get(kind.__module__), "__file__", None)
        package = kind.__module__.partition(".")[0]
        portable = package in _PORTABLE or package.startswith("_cython_") or kind.__module__ == _MAIN or (isinstance(file, str) and _whose(file) == "own")
        if not portable or (isinstance(thing, torch.Tensor) and (thing.device.type != "cpu" or thing.is_shared())):
            raise TypeError(kind.__qualname__)
        return super().reducer_override(thing)


class _Out(io.BytesIO):
    def write(self, part: Any) -> int:
        if self.tell() + len(part) > _MOST:
            raise ValueError("too large")
        return super().write(part)


def _can_be_sent(value: Any) -> bool:
    try:
        _Pickler(_Out()).dump(value)
    except Exception:
        return False
    return True


def _set(module: types.ModuleType, packed: bytes) -> None:
    with contextlib.suppress(Exception):  # it names a module that this node lacks: the module stays as imported
        for place, value in cloudpickle.loads(packed).items():
            with contextlib.suppress(Exception):  # a class that takes none, or another version of the module
                holder = module if len(place) == 1 else getattr(module, place[0])
                setattr(holder, place[-1], value)


class _Finder(importlib.abc.MetaPathFinder):
    """Sets values in modules that are imported later."""

    def __init__(self, waiting: State) -> None:
        self._waiting = waiting

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        packed = self._waiting.pop(name, None)
        if packed is None:
            return None
        for finder in _after(self):
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader.exec_module = _then_set(spec.loader.exec_module, packed)  # type: ignore[method-assign]
                return spec
        return None


def _after(own: _Finder) -> Iterator[Any]:
    return iter(sys.meta_path[sys.meta_path.index(own) + 1 :])


def _then_set(execute: Any, packed: bytes) -> Any:
    def exec_module(module: types.ModuleType) -> None:
        execute(module)
        _set(module, packed)

    return exec_module
