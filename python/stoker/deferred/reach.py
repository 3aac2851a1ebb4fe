"""Which code of a program a fetch may run, and whether that code would notice that a tensor waits.

A tensor that waits is a subclass of torch's, so almost all code takes it for one. Two things do not: a comparison of
types by identity, `type(x) is torch.Tensor`, and an extension in C++ that reads a tensor's memory without PyTorch's
dispatcher. Both are looked for before anything waits, in the functions that can be reached from the data set, its
collate function and its worker_init_fn: by the names in their code, their closures, and the attributes of objects.
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

#: Packages whose own code takes tensors that wait, or has nothing to do with tensors. What their objects hold of the
#: program's is searched all the same.
KNOWN = {
    *sys.stdlib_module_names, *("torch", "torchvision", "numpy", "PIL", "stoker", "torchdata", "lightning", "pytorch_lightning"),
    *("accelerate", "transformers", "datasets", "webdataset", "timm", "open_clip", "litdata", "streaming"),
    *("scipy", "cv2", "skimage", "sklearn", "pandas", "pyarrow", "h5py", "numba", "matplotlib", "imageio", "tqdm", "yaml"),
    *("albumentations", "albucore", "omegaconf", "hydra", "wandb", "tensorboard", "pydantic"),
}  # fmt: skip
_ELEMENTS = 64  # of a container that are looked at: more are data, and not code
_MOST = 50_000  # objects; a program that has more of them within reach is not searched to its end
_PLAIN = (str, bytes, int, float, complex, type(None), os.PathLike)
_IS = dis.opmap.get("IS_OP", -1)  # since Python 3.9
_IMPORT = dis.opmap["IMPORT_NAME"]


def find_witness(*roots: Any) -> str:
    """Where code that is reached from these objects may notice a tensor that waits; empty where none does."""
    try:
        return _Search().run(roots)
    except Exception as error:  # an object of the program's that cannot be looked at
        return f"code that cannot be searched ({type(error).__name__}: {error})"


class _Search:
    def __init__(self) -> None:
        self._seen: dict[int, Any] = {}  # objects by identity, which keeps it theirs
        self._next: list[Any] = []

    def run(self, roots: tuple[Any, ...]) -> str:
        self._next += roots
        while self._next:
            found = self._look(self._next.pop())
            if found:
                return found
            if len(self._seen) > _MOST:
                return "more code than can be searched"
        return ""

    def _look(self, value: Any) -> str:
        if isinstance(value, _PLAIN) or id(value) in self._seen:
            return ""
        self._seen[id(value)] = value
        if isinstance(value, types.FunctionType):
            return self._look_at_function(value)
        if isinstance(value, type):
            if _package(value) not in KNOWN:
                self._next += (each for base in value.__mro__ if _package(base) not in KNOWN for each in vars(base).values())
            return ""
        if _is_foreign(getattr(value, "__module__", None)):
            return f"{value.__module__}.{getattr(value, '__name__', type(value).__name__)}, which reads the memory of tensors"
        self._next += _parts(value)
        return ""

    def _look_at_function(self, function: types.FunctionType) -> str:
        self._next += function.__defaults__ or ()
        self._next += (function.__kwdefaults__ or {}).values()
        self._next += _contents(function)
        self._next += vars(function).values()
        if _package(function) in KNOWN:
            return ""
        for code in _codes(function.__code__):
            found = _compares_types(code, function.__globals__) or _imports_foreign(code)
            if found:
                return found
            self._next += _named(code.co_names, function.__globals__)
        return ""


def _package(value: Any) -> str:
    return (getattr(value, "__module__", None) or "").partition(".")[0]


def _contents(function: types.FunctionType) -> Iterator[Any]:
    """What lies in its closure."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # it is empty
            pass


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code, and that of the functions that it makes."""
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _codes(each)


def _named(names: tuple[str, ...], space: dict[str, Any], deep: int = 3) -> Iterator[Any]:
    """The objects that names may mean, as globals or as attributes of modules among these."""
    for name in names:
        value = space.get(name)
        if isinstance(value, types.ModuleType):
            if deep and value.__name__.partition(".")[0] not in KNOWN:
                yield from _named(names, vars(value), deep - 1)
        elif value is not None:
            yield value


def _parts(value: Any) -> Iterator[Any]:
    """What an object holds that may be called, and its class."""
    if isinstance(value, (list, tuple, set, frozenset)):
        yield from list(value)[:_ELEMENTS] if len(value) <= _ELEMENTS else [each for each, _ in zip(value, range(_ELEMENTS))]
        return
    if isinstance(value, dict):
        yield from [each for each, _ in zip(value.values(), range(_ELEMENTS))]
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
        cells = tuple(types.CellType() for _ in value.gi_code.co_freevars)  # whose contents only the frame has
        yield types.FunctionType(value.gi_code, value.gi_frame.f_globals if value.gi_frame else {}, closure=cells)
    yield type(value)
    own = getattr(value, "__dict__", None)
    if type(own) is dict and not isinstance(value, types.ModuleType):
        yield from list(own.values())


def _compares_types(code: types.CodeType, space: dict[str, Any]) -> str:
    """Where code compares a type by identity with a class of tensors, or with something that is not known."""
    if _IS not in code.co_code[::2] or not {"type", "__class__"} & {*code.co_names}:
        return ""
    line, steps = code.co_firstlineno, list(dis.get_instructions(code))
    for number, step in enumerate(steps):
        line = step.starts_line if type(step.starts_line) is int and step.starts_line > 1 else getattr(step, "line_number", None) or line
        if step.opname == "IS_OP" and _may_be_tensor(steps[:number], space):
            return f"{code.co_filename}:{line}, which compares types by identity"
    return ""


def _may_be_tensor(steps: list[Any], space: dict[str, Any]) -> bool:
    """Whether what was loaded last may be a class of tensors."""
    names: list[str] = []
    for step in reversed(steps):
        if step.opname == "LOAD_CONST":
            return bool(names)
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            names.insert(0, step.argval)
        elif step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            value = space.get(step.argval, _builtin(step.argval))
            for name in names:
                value = getattr(value, name, None)
            return value is None or isinstance(value, type) and issubclass(value, _tensor())
        elif step.opname not in ("CACHE", "PRECALL", "NOP"):
            return True
    return True


def _builtin(name: str) -> Any:
    builtins = sys.modules["builtins"]
    return getattr(builtins, name, None)


def _tensor() -> type:
    return sys.modules["torch"].Tensor


def _imports_foreign(code: types.CodeType) -> str:
    """Where code imports an extension that has not been imported yet."""
    if _IMPORT not in code.co_code[::2]:
        return ""
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME" and _is_foreign(step.argval):
            return f"{code.co_filename} imports {step.argval}, which reads the memory of tensors"
    return ""


@functools.lru_cache(1024)
def _is_foreign(name: str | None) -> bool:
    """Whether a module is an extension that is linked to PyTorch, and not PyTorch's or torchvision's own."""
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
