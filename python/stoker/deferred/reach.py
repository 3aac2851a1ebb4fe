"""Finds code of a program that would notice a deferred tensor.

A deferred tensor is a subclass of torch.Tensor, so almost all code accepts it. There are two
exceptions: comparing types by identity, `type(x) is torch.Tensor`, and a C++ extension that reads a
tensor's memory without PyTorch's dispatcher. Before anything is deferred, this module searches the
functions that a fetch may reach from the data set, its collate function and its worker_init_fn: by
the names in their code, their closures and the attributes of objects.
"""

from __future__ import annotations

import dis
import functools
import importlib.util
import mmap
import os
import sys
import types
from collections.abc import Iterator
from typing import Any

#: Packages whose own code accepts deferred tensors or has nothing to do with tensors. The program's
#: objects that they hold are searched.
KNOWN = {
    *sys.stdlib_module_names, *("torch", "torchvision", "numpy", "PIL", "stoker", "torchdata", "lightning", "pytorch_lightning"),
    *("accelerate", "transformers", "datasets", "webdataset", "timm", "open_clip", "litdata", "streaming"),
    *("scipy", "cv2", "skimage", "sklearn", "pandas", "pyarrow", "h5py", "numba", "matplotlib", "imageio", "tqdm", "yaml"),
    *("albumentations", "albucore", "omegaconf", "hydra", "wandb", "tensorboard", "pydantic"),
}  # fmt: skip
_MOST_ELEMENTS = 64  # of a container that are searched: longer ones hold data
_MOST_OBJECTS = 50_000  # objects; a program with more of them is not searched further
_PLAIN = (str, bytes, int, float, complex, type(None), os.PathLike)
_IS = dis.opmap.get("IS_OP", -1)  # since Python 3.9
_IMPORT = dis.opmap["IMPORT_NAME"]


def find_witness(*roots: Any) -> str:
    """Return where code reached from these objects may notice a deferred tensor; "" if nowhere."""
    try:
        return _Search().run(roots)
    except Exception as error:  # an object of the program raised
        return f"code that cannot be searched ({type(error).__name__}: {error})"


class _Search:
    def __init__(self) -> None:
        self._seen: dict[int, Any] = {}  # searched objects; holding them keeps their ids unique
        self._next: list[Any] = []

    def run(self, roots: tuple[Any, ...]) -> str:
        self._next += roots
        while self._next:
            found = self._search(self._next.pop())
            if found:
                return found
            if len(self._seen) > _MOST_OBJECTS:
                return "more code than can be searched"
        return ""

    def _search(self, value: object) -> str:
        if isinstance(value, _PLAIN) or id(value) in self._seen:
            return ""
        self._seen[id(value)] = value
        if isinstance(value, types.FunctionType):
            return self._search_function(value)
        if isinstance(value, type):
            if _package(value) not in KNOWN:
                self._next += (each for base in value.__mro__ if _package(base) not in KNOWN for each in vars(base).values())
            return ""
        if _is_foreign(getattr(value, "__module__", None)):
            return f"{value.__module__}.{getattr(value, '__name__', type(value).__name__)}, which reads the memory of tensors"
        self._next += _find_parts(value)
        return ""

    def _search_function(self, function: types.FunctionType) -> str:
        self._next += function.__defaults__ or ()
        self._next += (function.__kwdefaults__ or {}).values()
        self._next += _read_closure(function)
        self._next += vars(function).values()
        if _package(function) in KNOWN:
            return ""
        for code in _find_codes(function.__code__):
            found = _compares_types(code, function.__globals__) or _imports_foreign(code)
            if found:
                return found
            self._next += _find_named(code.co_names, function.__globals__)
        return ""


def _package(value: object) -> str:
    return (getattr(value, "__module__", None) or "").partition(".")[0]


def _read_closure(function: types.FunctionType) -> Iterator[Any]:
    """Yield the values in a function's closure."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # an empty cell
            pass


def _find_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a code object, and those of the functions defined in it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _find_codes(each)


def _find_named(names: tuple[str, ...], space: dict[str, Any], deep: int = 3) -> Iterator[Any]:
    """Yield the objects that names may refer to: globals, or attributes of modules among the
    globals."""
    for name in names:
        value = space.get(name)
        if isinstance(value, types.ModuleType):
            if deep and value.__name__.partition(".")[0] not in KNOWN:
                yield from _find_named(names, vars(value), deep - 1)
        elif value is not None:
            yield value


def _find_parts(value: object) -> Iterator[Any]:
    """Yield what an object holds that may be called, and its class."""
    if isinstance(value, (list, tuple, set, frozenset)):
        yield from list(value)[:_MOST_ELEMENTS] if len(value) <= _MOST_ELEMENTS else [each for each, _ in zip(value, range(_MOST_ELEMENTS))]
        return
    if isinstance(value, dict):
        yield from [each for each, _ in zip(value.values(), range(_MOST_ELEMENTS))]
        return
    if isinstance(value, functools.partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, types.MethodType):
        yield from (value.__func__, value.__self__)
    elif isinstance(value, (staticmethod, classmethod)):
        yield value.__func__
    elif isinstance(value, property):
        yield from filter(None, (value.fget, value.fset))
    elif isinstance(value, types.GeneratorType):
        cells = tuple(types.CellType() for _ in value.gi_code.co_freevars)  # only the frame has their contents
        yield types.FunctionType(value.gi_code, value.gi_frame.f_globals if value.gi_frame else {}, closure=cells)
    yield type(value)
    own = getattr(value, "__dict__", None)
    if type(own) is dict and not isinstance(value, types.ModuleType):
        yield from list(own.values())


def _compares_types(code: types.CodeType, space: dict[str, Any]) -> str:
    """Return where code compares a type by identity with a tensor class or an unknown value."""
    if _IS not in code.co_code[::2] or not {"type", "__class__"} & {*code.co_names}:
        return ""
    line, steps = code.co_firstlineno, list(dis.get_instructions(code))
    for number, step in enumerate(steps):
        line = step.starts_line if type(step.starts_line) is int and step.starts_line > 1 else getattr(step, "line_number", None) or line
        if step.opname == "IS_OP" and _may_be_tensor_type(steps[:number], space):
            return f"{code.co_filename}:{line}, which compares types by identity"
    return ""


def _may_be_tensor_type(steps: list[Any], space: dict[str, Any]) -> bool:
    """Whether the value loaded last may be a tensor class."""
    names: list[str] = []
    for step in reversed(steps):
        if step.opname == "LOAD_CONST":
            return bool(names)
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            names.insert(0, step.argval)
        elif step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            value = space.get(step.argval, _find_builtin(step.argval))
            for name in names:
                value = getattr(value, name, None)
            return value is None or isinstance(value, type) and issubclass(value, _tensor_type())
        elif step.opname not in ("CACHE", "PRECALL", "NOP"):
            return True
    return True


def _find_builtin(name: str) -> Any:
    builtins = sys.modules["builtins"]
    return getattr(builtins, name, None)


def _tensor_type() -> type:
    return sys.modules["torch"].Tensor


def _imports_foreign(code: types.CodeType) -> str:
    """Return where code imports an extension that is not imported yet."""
    if _IMPORT not in code.co_code[::2]:
        return ""
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME" and _is_foreign(step.argval):
            return f"{code.co_filename} imports {step.argval}, which reads the memory of tensors"
    return ""


@functools.lru_cache(1024)
def _is_foreign(name: str | None) -> bool:
    """Whether a module is an extension that links PyTorch, and neither PyTorch's nor torchvision's."""
    if not isinstance(name, str) or not name or name.partition(".")[0] in KNOWN:
        return False
    module = sys.modules.get(name)
    try:
        path = getattr(module, "__file__", None) if module is not None else getattr(importlib.util.find_spec(name), "origin", None)
        if not isinstance(path, str) or not path.endswith(".so"):
            return False
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            return text.find(b"libtorch") >= 0 or text.find(b"libc10.so") >= 0
    except (ImportError, OSError, ValueError, AttributeError):
        return False
