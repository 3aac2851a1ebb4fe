"""NumPy arrays that are made later, of pictures that are made later.

A `LaterArray` says that it is an ndarray, and knows its shape and type. It is none and has no memory, so that C code
can never read what has not been made: such code asks for the real array, or does not take it, which fails the fetch,
and that is done once more without. What is asked of it elementwise, and other looks at it, are kept and done with the
pixels. Any other operation gets the real array, made there and then, as does what asks for memory, a copy or a pickle.
"""

from __future__ import annotations

import functools
import gc
import mmap
import opcode
import operator
import sys
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType, CellType
from typing import Any

import numpy as np
import torch

from ._bands import band_of, look_of, masked
from ._blanks import Blank, blank_of, lay
from ._job import idle, values_of
from ._pictures import ALL, DEEP, Recording, bare, deferred, recording, replace, undoing
from ._plan import ITSELF, Call, Cell, Plan, Steps, call_of
from ._tensors import Later, per_band, valued

VALUES = "the values of an array"  # what may be asked for
_DTYPES = {np.dtype(name) for name in ("uint8", "uint16", "int16", "int32", "int64", "float16", "float32", "float64")}
_BYTES = np.dtype("uint8")
_SMALL = 64  # numbers of a constant
_been: set[bool] = set()  # whether there has been one that waited, in this process
_refused = mmap.mmap(-1, 2)  # of this process and its children: 1 where some library did not take what waits
_ARRAYS, _BLANKS = range(2)  # of pictures, and new ones


class _Posing(type):
    """A class that is equal to the one that it stands for."""

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is np.ndarray

    def __hash__(cls) -> int:
        return hash(np.ndarray)


class LaterArray(metaclass=_Posing):
    """An array whose memory does not exist yet."""

    __slots__ = ("cell", "__weakref__")
    cell: Cell
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 0.0

    def __init__(self, cell: Cell) -> None:
        object.__setattr__(self, "cell", cell)
        if cell.plan is not None:
            _been.add(True)
        if found := recording():
            found.tensors.append(weakref.ref(self))

    @property
    def __class__(self) -> Any:  # what isinstance asks for
        return np.ndarray

    def __getattr__(self, name: str) -> Any:
        if not hasattr(np.ndarray, name):
            raise AttributeError(f"'numpy.ndarray' object has no attribute '{name}'")
        if name in _BEYOND and self.cell.family is not None:
            first = self.cell.family.first()  # what it looks at is seen by this
            valued(self.cell, VALUES)
            del first
        return getattr(_made(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_made(self), name, value)

    @property
    def shape(self) -> tuple[int, ...]:
        plan = self.cell.plan
        return self.cell.value.shape if plan is None else plan.shape

    @property
    def dtype(self) -> Any:
        plan = self.cell.plan
        return self.cell.value.dtype if plan is None else plan.dtype

    @property
    def strides(self) -> tuple[int, ...]:
        plan = self.cell.plan
        if plan is None:
            return self.cell.value.strides
        return tuple(step * plan.dtype.itemsize for step in plan.strides())

    @property
    def flags(self) -> Any:
        plan = self.cell.plan
        return self.cell.value.flags if plan is None else _Flags(self)

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: functools.reduce(operator.mul, self.shape, 1))
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.size * self.itemsize)
    T = property(lambda self: self.transpose())

    def __len__(self) -> int:
        return len(_made(self)) if self.cell.plan is None else self.shape[0]

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any:
        if recording() and min(self.strides, default=0) < 0:  # PyTorch up to 2.11 ends the process over one
            raise BufferError("an array that is not made yet and has a negative stride is lent to nobody")
        return _made(self).__dlpack__(*args, **kwargs)

    # Other looks at the same memory.

    def __getitem__(self, key: Any) -> Any:
        plan = self.cell.plan
        keys = key if type(key) is tuple else (key,)
        seen = (plan.indexed(keys) or band_of(plan, keys)) if plan is not None and recording() else None
        if seen is None:
            _check_caller(_SUBSCRIPTS)
        return _view(self, lambda plan: seen, lambda value: value[_real(key)])

    def transpose(self, *axes: Any) -> Any:
        order = axes[0] if len(axes) == 1 and (axes[0] is None or type(axes[0]) in (tuple, list)) else axes
        rank = self.ndim
        positive = _positive(order, rank) if order else tuple(reversed(range(rank)))
        return _view(self, lambda plan: plan.permuted(positive), lambda value: value.transpose(*axes))

    def swapaxes(self, axis1: Any, axis2: Any) -> Any:
        rank = self.ndim
        pair, order = _positive((axis1, axis2), rank), list(range(rank))
        if not pair:
            return _made(self).swapaxes(axis1, axis2)
        order[pair[0]], order[pair[1]] = pair[1], pair[0]
        return _view(self, lambda plan: plan.permuted(tuple(order)), lambda value: value.swapaxes(axis1, axis2))

    # Others of its values.

    def copy(self, order: Any = "C") -> Any:
        after = _after(self, call_of(np.ndarray.copy, (order,), {})) if order in ("C", "K") else None
        return _made(self).copy(order) if after is None else after

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        if not args and kwargs.keys() <= {"copy"} and type(copy := kwargs.get("copy", True)) is bool:
            known = _dtype(dtype)
            if not copy and known == self.dtype:
                return self
            after = None if known is None else _after(self, call_of(np.ndarray.astype, (known,), {}))
            if after is not None:
                return after
        return _made(self).astype(_real(dtype), *args, **kwargs)

    def __setitem__(self, key: Any, value: Any) -> None:
        _check_caller(_SUBSCRIPTS)
        if type(key) is LaterArray and type(value) in (int, float) and _waits(self) and _waits(key):
            if self.cell.change(masked(self.cell.plan, key.cell.plan, value)):
                return
        if _waits(value) and _laid(self, key, value):
            return
        _made(self)[_real(key)] = _real(value)

    # What others ask for.

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        value = _made(self)
        if dtype is not None and np.dtype(dtype) != value.dtype:
            return value.astype(dtype)
        return value.copy("K") if copy else value

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs and (after := _by_ufunc(ufunc, inputs)) is not None:
            return after
        out = kwargs.get("out", ())
        given = {key: _real(value) for key, value in kwargs.items()}
        result = getattr(ufunc, method)(*_real(inputs), **given)
        for each in out:
            if type(each) is LaterArray and result is each.cell.value:
                return each
        return result

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        known = _FUNCTIONS.get(getattr(func, "__name__", ""))
        if known is not None and args and type(args[0]) is LaterArray and args[0].cell.plan is not None:
            try:
                return known(*args, **kwargs)
            except (TypeError, ValueError):  # in a way that is not known here, or wrong
                pass
        return func(*_real(args), **_real(kwargs))

    def __buffer__(self, flags: int) -> memoryview:
        return _made(self).__buffer__(flags)

    def __bytes__(self) -> bytes:
        return bytes(_made(self))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _made(self).__reduce_ex__(protocol)

    def __reduce__(self) -> Any:
        return _made(self).__reduce__()

    def __copy__(self) -> Any:
        return _made(self).__copy__()

    def __deepcopy__(self, memo: Any) -> Any:
        return _made(self).__deepcopy__(memo)

    def __dir__(self) -> Any:
        return dir(np.ndarray)

    def __sizeof__(self) -> int:
        return _made(self).__sizeof__()

    def __format__(self, spec: str) -> str:
        return format(_made(self), spec)

    def __iter__(self) -> Iterator[Any]:
        _check_caller(_ITERATIONS)
        return iter(_made(self))


LaterArray.__name__ = LaterArray.__qualname__ = np.ndarray.__name__
LaterArray.__module__ = np.ndarray.__module__  # which is what some ask of a class


_BEYOND = {"base", "ctypes", "data", "__array_interface__", "__array_struct__"}  # lead to what lies beside a view
_SUBSCRIPTS = {"BINARY_SUBSCR", "BINARY_SLICE", "STORE_SUBSCR", "STORE_SLICE", "DELETE_SUBSCR", "NB_SUBSCR"}
_ITERATIONS = {"GET_ITER", "UNPACK_SEQUENCE", "UNPACK_EX", "LIST_EXTEND", "GET_YIELD_FROM_ITER"}


def _check_caller(instructions: set[str]) -> None:
    """Raise TypeError where C code asks item by item: of a real array it would have taken the memory, and some do
    another thing with other sequences (shuffle, torch.Tensor)."""
    frame = sys._getframe(2)
    at, code = frame.f_lasti, frame.f_code.co_code
    while opcode.opname[code[at]] == "CACHE":  # behind the instruction
        at -= 2
    name = opcode.opname[code[at]]
    if name == "BINARY_OP":  # of Python 3.14, which has subscripts among them
        name = opcode._nb_ops[code[at + 1]][0]  # type: ignore[attr-defined]
    if name not in instructions:
        if found := recording():
            found.sequence = True
        raise TypeError("an array that is not made yet is no sequence")


class _Flags:
    """What `flags` gives of an array that waits; what is not known of it, and what is set, is the real one's."""

    __slots__ = ("_later",)

    def __init__(self, later: LaterArray) -> None:
        object.__setattr__(self, "_later", later)

    def __getitem__(self, name: str) -> Any:
        plan = self._later.cell.plan
        if plan is not None and name in ("WRITEABLE", "W"):
            return not plan.look.fixed
        if plan is not None and name in ("C_CONTIGUOUS", "CONTIGUOUS", "C"):
            return _dense(plan)
        return _made(self._later).flags[name]

    def __setitem__(self, name: str, value: Any) -> None:
        _made(self._later).flags[name] = value

    def __getattr__(self, name: str) -> Any:
        if name in ("writeable", "c_contiguous", "contiguous"):
            return self[name.upper()]
        return getattr(_made(self._later).flags, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_made(self._later).flags, name, value)

    def __repr__(self) -> str:
        return repr(_made(self._later).flags)

    def __eq__(self, other: object) -> bool:
        return _made(self._later).flags == other

    __hash__ = None  # type: ignore[assignment]


def _made(later: LaterArray) -> Any:
    """The value, made where it is not there yet."""
    return later.cell.value if later.cell.plan is None else valued(later.cell, VALUES)


def _laid(later: LaterArray, key: Any, value: LaterArray) -> bool:
    """Whether a picture that waits could be laid into an array."""
    plan, found = lay(later.cell, key, value.cell.plan), recording()
    if plan is None or found is None or type(later.cell) is not Blank:
        return later.cell.change(plan)
    object.__setattr__(later, "cell", Cell(plan))
    found.tensors.append(weakref.ref(later))  # a new array may be of an earlier fetch
    return True


def _waits(value: Any) -> bool:
    return type(value) is LaterArray and value.cell.plan is not None and recording() is not None


def _view(later: LaterArray, change: Callable[[Plan], Plan | None], look: Callable[[Any], Any]) -> Any:
    """What another look at the same memory gives, where that can wait."""
    cell = later.cell
    if cell.plan is not None and recording():
        plan = change(cell.plan)
        if plan is not None:
            return LaterArray(cell.view(plan, look))
    return look(_made(later))


def _after(later: LaterArray, call: Call) -> LaterArray | None:
    """What an elementwise call gives, in memory of its own; None: it needs the real array."""
    plan = _planned(later, call)
    return None if plan is None else LaterArray(Cell(plan))


def _planned(later: LaterArray, call: Call) -> Plan | None:
    plan = later.cell.plan
    if plan is None or not recording():
        return None
    after = plan.then(call)
    if after is None or after.tail or after.recipe is None or after.steps is None:
        return None
    return after if _quiet(after.recipe.bands, after.steps) else None


@functools.lru_cache(512)
def _quiet(bands: int, steps: Steps) -> bool:
    """Whether NumPy has nothing to say of the last call, of whatever bytes: no overflow, no division by 0, and no cast
    of what the type does not have, which differs from processor to processor."""
    value = steps.begin.of_planes(values_of(bands, steps))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            with np.errstate(all="ignore"):
                for call in steps.calls[:-1]:
                    value = call(value)
            with np.errstate(all="raise", under="ignore"):
                after = steps.calls[-1](value)
        except Exception:
            return False
    if type(value) is np.ndarray and value.dtype.kind == "f" and after.dtype.kind in "iu":
        least, most = np.iinfo(after.dtype).min, np.iinfo(after.dtype).max
        return bool(np.isfinite(value).all()) and least <= int(value.min()) and int(value.max()) <= most
    return True


def waits(value: Any) -> bool:
    """Whether it is an array that waits."""
    return _waits(value)


def waiting(value: Any) -> bool:
    """Whether there is one in it."""
    found: list[LaterArray] = []
    _search(value, found)
    return any(later.cell.plan is not None for later in found)


def settled(value: Any) -> Any:
    """With real arrays in place of those that have been made."""
    found: list[LaterArray] = []
    _search(value, found)
    return _replaced(value, False) if any(later.cell.plan is None for later in found) else value


def _real(value: Any) -> Any:
    """With real arrays in place of all that wait, which are made together."""
    found: list[LaterArray] = []
    _search(value, found)
    if not found:
        return value
    waiting = [later.cell for later in found if later.cell.plan is not None]
    if waiting:
        valued(waiting[0], VALUES, waiting[1:])
    return _replaced(value)


def _search(value: Any, found: list[LaterArray]) -> None:
    if type(value) is LaterArray:
        found.append(value)
    elif type(value) in (list, tuple):
        for each in value:
            _search(each, found)
    elif type(value) is dict:
        for each in value.values():
            _search(each, found)
    elif type(value) is slice:
        _search((value.start, value.stop, value.step), found)


def _replaced(value: Any, all_of_them: bool = True) -> Any:
    if type(value) is LaterArray:
        return _made(value) if all_of_them or value.cell.plan is None else value
    if type(value) in (list, tuple):
        return type(value)(_replaced(each, all_of_them) for each in value)
    if type(value) is dict:
        return {key: _replaced(each, all_of_them) for key, each in value.items()}
    if type(value) is slice:
        return slice(*(_replaced(each, all_of_them) for each in (value.start, value.stop, value.step)))
    return value


def _dtype(wanted: Any) -> Any:
    """The type of numbers that is meant; None where it is none that waits."""
    try:
        known = np.dtype(wanted)
    except TypeError:
        return None
    return known if known in _DTYPES else None


def _positive(axes: Any, rank: int) -> tuple[int, ...]:
    """The axes counted from the first; none of them where something else is among them."""
    plain = type(axes) in (tuple, list) and all(type(axis) is int and -rank <= axis < rank for axis in axes)
    return tuple(axis % rank for axis in axes) if plain else ()


# Arithmetic. Only what rounds as IEEE 754 says, so that no result depends on where in memory a value lies.

_UFUNCS = {
    np.add, np.subtract, np.multiply, np.true_divide, np.negative, np.positive, np.absolute, np.square, np.sqrt,
    np.minimum, np.maximum,
}  # fmt: skip


def _by_ufunc(ufunc: Any, inputs: tuple[Any, ...]) -> LaterArray | None:
    if ufunc not in _UFUNCS or len(inputs) > 2:
        return None
    turned = len(inputs) == 2 and type(inputs[0]) is not LaterArray
    later, rest = (inputs[1], inputs[:1]) if turned else (inputs[0], inputs[1:])
    if type(later) is LaterArray and type(later.cell) is Blank and rest and recording():
        blank = later.cell.after(ufunc, rest[0], turned)
        return None if blank is None else LaterArray(blank)
    if not _waits(later):
        return None
    constants = tuple(_constant(later, each) for each in rest)
    return None if None in constants else _after(later, call_of(ufunc, tuple(each for (each,) in constants), {}, turned))


def _constant(later: LaterArray, value: Any) -> tuple[Any] | None:
    """A number, or some, one for each band; None: something else."""
    if type(value) in (int, float):
        return (value,)
    if type(value) is LaterArray:
        return (ITSELF,) if value.cell is later.cell else None
    if type(value) in (list, tuple) and all(type(each) in (int, float) for each in value):
        value = np.array(value)
    if not isinstance(value, np.generic) and type(value) is not np.ndarray:
        return None
    if value.dtype.kind not in "iuf" or value.size > _SMALL or not value.size:
        return None
    plan = later.cell.plan
    fits = plan is not None and plan.steps is not None and value.ndim <= len(plan.shape)
    return (value,) if fits and (value.ndim == 0 or per_band(plan.look, value.shape)) else None


def _install_operators() -> None:
    binary = "add sub mul truediv floordiv mod pow lshift rshift and or xor matmul".split()
    ufuncs = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide}
    for name in binary:
        public = name + "_" if name in ("and", "or") else name
        _install_binary(name, getattr(operator, public), getattr(operator, "i" + name), ufuncs.get(name))
    for name, ufunc in _COMPARISONS.items():
        _install_method(name, _comparing(getattr(operator, name), ufunc))
    _install_method("contains", _asking(operator.contains))
    _install_method("divmod", _asking(divmod))
    _install_method("rdivmod", lambda self, other: divmod(_real(other), _made(self)))
    kinds = {"bool": bool, "int": int, "float": float, "complex": complex, "index": operator.index, "str": str, "repr": repr}
    for name, kind in {**kinds, "invert": operator.invert}.items():
        _install_method(name, lambda self, kind=kind: kind(_made(self)))
    for name, ufunc in {"neg": np.negative, "pos": np.positive, "abs": np.absolute}.items():
        _install_method(name, lambda self, ufunc=ufunc: ufunc(self))


def _install_method(name: str, method: Any) -> None:
    method.__name__ = f"__{name}__"
    setattr(LaterArray, method.__name__, method)


def _asking(operate: Any) -> Any:
    return lambda self, other: operate(_made(self), _real(other))


_COMPARISONS = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip


def _comparing(operate: Any, ufunc: Any) -> Any:
    def compare(self: LaterArray, other: Any) -> Any:
        plain = type(other) in (int, float) and self.dtype == _BYTES
        after = _after(self, call_of(ufunc, (other,), {})) if plain else None
        return operate(_made(self), _real(other)) if after is None else after

    return compare


def _install_binary(name: str, operate: Any, in_place: Any, ufunc: Any) -> None:
    def forwards(self: LaterArray, other: Any) -> Any:
        after = _by_ufunc(ufunc, (self, other)) if ufunc else None
        return operate(_made(self), _real(other)) if after is None else after

    def backwards(self: LaterArray, other: Any) -> Any:
        after = _by_ufunc(ufunc, (other, self)) if ufunc else None
        return operate(_real(other), _made(self)) if after is None else after

    def here(self: LaterArray, other: Any) -> Any:
        if ufunc and _write(self, in_place, other):
            return self
        value = _made(self)
        result = in_place(value, _real(other))
        return self if result is value else result

    _install_method(name, forwards)
    _install_method("r" + name, backwards)
    _install_method("i" + name, here)


def _write(later: LaterArray, in_place: Any, other: Any) -> bool:
    """Whether values could be changed where they will lie."""
    constant = _constant(later, other) if _waits(later) else None
    if constant is None or constant[0] is ITSELF or later.cell.plan is None or later.cell.plan.look.fixed:
        return False
    return later.cell.change(_planned(later, call_of(in_place, constant, {})))


_install_operators()


# Functions of NumPy.


def _moved(later: Any, source: Any, destination: Any) -> Any:
    (before,), (behind,) = (_positive((axis,), later.ndim) for axis in (source, destination))
    order = [axis for axis in range(later.ndim) if axis != before]
    order.insert(behind, before)
    return later.transpose(*order)


def _rolled(later: Any, axis: Any, start: Any = 0) -> Any:
    if type(axis) is not int or type(start) is not int or not 0 <= start <= axis < later.ndim:
        raise ValueError
    return _moved(later, axis, start)


def _flipped(m: Any, axis: Any = None) -> Any:
    axes = range(m.ndim) if axis is None else _positive(axis if type(axis) is tuple else (axis,), m.ndim)
    if not axes:
        raise ValueError
    return m[tuple(slice(None, None, -1 if i in axes else None) for i in range(m.ndim))]


def _rotated(m: Any, k: Any = 1) -> Any:
    if type(k) is not int or m.ndim < 2:
        raise ValueError
    swapped = (1, 0, *range(2, m.ndim))
    if k % 2 == 0:
        return m[:] if k % 4 == 0 else _flipped(_flipped(m, 0), 1)
    return _flipped(m, 1).transpose(*swapped) if k % 4 == 1 else _flipped(m.transpose(*swapped), 1)


def _expanded(a: Any, axis: Any) -> Any:
    (at,) = _positive((axis,), a.ndim + 1)
    return a[(*[slice(None)] * at, None, Ellipsis)]


def _clipped(a: Any, a_min: Any, a_max: Any) -> Any:
    plain = type(a_min) in (int, float) and type(a_max) in (int, float)
    after = _after(a, call_of(np.clip, (a_min, a_max), {})) if plain else None
    if after is None:
        raise ValueError
    return after


def _at_least_3d(a: Any) -> Any:
    return a if a.ndim >= 3 else a[:, :, None]


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "transpose": lambda a, axes=None: a.transpose(axes),
    "moveaxis": _moved,
    "rollaxis": _rolled,
    "swapaxes": lambda a, axis1, axis2: a.swapaxes(axis1, axis2),
    "flip": _flipped,
    "fliplr": lambda m: _flipped(m, 1),
    "flipud": lambda m: _flipped(m, 0),
    "rot90": _rotated,
    "expand_dims": _expanded,
    "atleast_3d": _at_least_3d,
    "copy": lambda a: a.copy("K"),
    "clip": _clipped,
    "shape": lambda a: a.shape,
    "ndim": lambda a: a.ndim,
}


class _Standing:
    """A function of a module that does something else while it waits, and is otherwise equal to what it was."""

    def __init__(self, original: Any, ours: Callable[..., Any]) -> None:
        self.original, self._ours = original, ours
        functools.update_wrapper(self, original, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if recording() is None and not any(type(each) is LaterArray for each in args):
            return self.original(*args, **kwargs)
        return self._ours(self.original, *args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return other is self or other is self.original

    def __hash__(self) -> int:
        return hash(self.original)

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "original"), name)

    def __reduce__(self) -> Any:
        return _named, (self.original.__module__, self.original.__name__)


def _named(module: str, name: str) -> Any:
    return getattr(sys.modules[module], name)


def _array(original: Any, *args: Any, **kwargs: Any) -> Any:
    return _taken(original, True, *args, **kwargs)


def _asarray(original: Any, *args: Any, **kwargs: Any) -> Any:
    return _taken(original, False, *args, **kwargs)


def _taken(original: Any, copies: bool, *args: Any, **kwargs: Any) -> Any:
    """np.array, or np.asarray, of a picture or array that waits."""
    if args and type(args[0]) is np.ndarray and not kwargs.keys() - {"dtype", "copy"}:
        return original(*args, **kwargs)
    if args and len(args) <= 2 and kwargs.keys() <= {"dtype", "copy"}:
        wanted = kwargs.get("dtype", args[1] if len(args) == 2 else None)
        plain = ("copy" not in kwargs or copies and kwargs["copy"] is True) and ("dtype" not in kwargs or len(args) == 1)
        known = None if wanted is None else _dtype(wanted)
        if plain and (wanted is None or known is not None):
            after = _taken_as(args[0], copies, known)
            if after is not None:
                return after
    return _same(original, *args, **kwargs)


def _taken_as(value: Any, copies: bool, dtype: Any) -> Any:
    if _waits(value):
        if dtype is not None and dtype != value.dtype:
            return _after(value, call_of(np.ndarray.astype, (dtype,), {}))
        return _after(value, call_of(np.ndarray.copy, ("K",), {})) if copies else value
    plan = _plan_of(value, not copies)
    if plan is None:
        return None
    later = LaterArray(Cell(plan))
    return later if dtype in (None, plan.dtype) else _after(later, call_of(np.ndarray.astype, (dtype,), {}))


def _same(original: Any, *args: Any, **kwargs: Any) -> Any:
    """The function itself, of real arrays; where it gives back what it was given, that."""
    result = original(*_real(args), **_real(kwargs))
    first = args[0] if args else None
    return first if type(first) is LaterArray and result is first.cell.value else result


real, same = _real, _same  # for those who know more functions


def _contiguous(original: Any, *args: Any, **kwargs: Any) -> Any:
    later = args[0] if len(args) == 1 and kwargs.keys() <= {"dtype"} else None
    if not _waits(later):
        made = None if later is None or kwargs else _plan_of(later, True)
        return _same(original, *args, **kwargs) if made is None else LaterArray(Cell(made))
    plan, wanted = later.cell.plan, kwargs.get("dtype")
    dtype = plan.dtype if wanted is None else _dtype(wanted)
    if dtype == plan.dtype and _dense(plan):
        return later
    call = call_of(np.ndarray.copy, ("C",), {}) if dtype == plan.dtype else call_of(np.ndarray.astype, (dtype, "C"), {})
    after = None if dtype is None else _after(later, call)
    return _same(original, *args, **kwargs) if after is None else after


def _required(original: Any, a: Any, dtype: Any = None, requirements: Any = None, **kwargs: Any) -> Any:
    wanted = [requirements] if isinstance(requirements, str) else requirements or []
    if kwargs or dtype is not None or not _waits(a) or not {*wanted} <= _LIE or not {*wanted} & _LIE:
        return _same(original, a, dtype, requirements, **kwargs)
    return _contiguous(_originals["numpy", "ascontiguousarray"], a)


def _new(original: Any, *args: Any, **kwargs: Any) -> Any:
    """np.zeros, np.ones or np.full: where a picture is laid into it next, it waits as well."""
    dtype = kwargs.get("dtype", args[-1] if args else None)
    if dtype is np.uint8 or dtype is _BYTES or type(dtype) is str and dtype == _BYTES.name:
        found = recording()
        if found is not None and found.used and not found.still and not _refused[_BLANKS] and _may(found):
            blank = blank_of(original.__name__, args, kwargs, sys._getframe(2))
            if blank is not None:
                found.blanks = found.waited = True
                return LaterArray(blank)
    return original(*args, **kwargs)


_LIE = {"C", "C_CONTIGUOUS", "CONTIGUOUS"}  # of what numpy.require takes


def _dense(plan: Plan) -> bool:
    size = 1
    for side, step in zip(reversed(plan.shape), reversed(plan.strides())):
        if side != 1 and step != size:
            return False
        size *= side
    return True


def _plan_of(image: Any, fixed: bool) -> Plan | None:
    """The array of a picture that is not made; None: something else, or it is made, or better left."""
    found = recording()
    if found is None or not _may(found):
        return None
    Image = sys.modules["PIL.Image"].Image
    if not isinstance(image, Image) or type(image).__array_interface__ is not Image.__array_interface__:
        return None
    recipe = None if hasattr(type(image), "__array__") else deferred(image, ALL)
    if recipe is None:
        return None
    (width, height), bands = recipe.size, recipe.bands
    if min(width, height) < 2 or not may_wait(found):  # how one with a side of one lies in memory no sample tells
        return None
    found.waited = True
    look = look_of(bands, fixed)._replace(dtype=np.dtype(DEEP.get(recipe.mode, "uint8")))
    return Plan(recipe.copy(), (), Steps(look, (), look), (), look.shape((height, width, bands)), look.dtype, (height, width, bands))


def _may(found: Recording) -> bool:
    return (found.again or found.staged) and found.tally.arrays and not _refused[_ARRAYS]


def may_wait(found: Recording) -> bool:
    """Whether an array may, in this fetch; where not all that takes one is in place, it is from the next one on."""
    found.wanted = True
    return _may(found) and not found.still


def later_of(plan: Plan) -> LaterArray:
    return LaterArray(Cell(plan))


def elementwise(original: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of an array that waits and of constants, value by value; into itself, where it says so."""
    later, rest, into = args[0] if args else None, args[1:], kwargs.get("dst")
    named = {key: value for key, value in kwargs.items() if key != "dst"}
    plain = all(map(_number_or_table, rest)) and all(type(value) in (int, float) for value in named.values())
    if plain and rest and _waits(later) and (into is None or into is later):
        after = changed(later, call_of(original, rest, named), into is later)
        if after is not None:
            return after
    return _same(original, *args, **kwargs)


def changed(later: LaterArray, call: Call, here: bool) -> LaterArray | None:
    """What an elementwise call gives, in the same memory where that is meant; None: it needs the real array."""
    if not here:
        return _after(later, call)
    plan, before = _planned(later, call), later.cell.plan
    fits = plan is not None and before is not None and plan.look == before.look and not before.look.fixed
    return later if fits and later.cell.change(plan) else None


def _number_or_table(value: Any) -> bool:
    if type(value) is tuple:
        return all(type(each) in (int, float) for each in value)
    return type(value) in (int, float) or type(value) is np.ndarray and value.size in (256, 768)


# Functions of torch and Pillow.


def _from_numpy(original: Any, *args: Any) -> Any:
    tensor = _torched(args[0]) if len(args) == 1 and _waits(args[0]) else None
    return original(*_real(args)) if tensor is None else tensor


def _torched(later: LaterArray) -> Later | None:
    """torch.from_numpy of it; None: it needs the real array."""
    cell = later.cell
    plan = None if cell.plan is None else cell.plan.torched()
    if plan is None or cell.plan is None:
        return None
    if cell.plan.look.fixed:
        _warn_of_fixed()
    return Later(cell.view(plan, _originals["torch", "from_numpy"]))


def _warn_of_fixed() -> None:
    """What torch says, once in a process, of an array that cannot be written."""
    array = np.zeros(1, np.uint8)
    array.flags.writeable = False
    _originals["torch", "from_numpy"](array)


def _as_tensor(original: Any, *args: Any, **kwargs: Any) -> Any:
    if len(args) == 1 and kwargs.keys() <= {"dtype"} and _waits(args[0]):
        tensor = _torched(args[0])
        if tensor is not None:
            return tensor.to(kwargs["dtype"]) if kwargs.get("dtype") is not None else tensor
    return original(*_real(args), **_real(kwargs))


def _tensor(original: Any, *args: Any, **kwargs: Any) -> Any:
    if len(args) == 1 and kwargs.keys() <= {"dtype"} and _waits(args[0]):
        copied = args[0].copy()
        tensor = _torched(copied) if _waits(copied) else None
        if tensor is not None:
            return tensor.to(kwargs["dtype"]) if kwargs.get("dtype") is not None else tensor
    return original(*_real(args), **_real(kwargs))


def _from_array(original: Any, obj: Any, mode: Any = None) -> Any:
    """Image.fromarray, which copies a colour picture; others may share the array's memory."""
    if type(obj) is not LaterArray:
        return original(obj, mode)
    plan = obj.cell.plan if _waits(obj) else None
    if plan is None or plan.tail or plan.recipe is None or plan.steps is None or mode not in (None, "RGB"):
        return original(_made(obj), mode)
    plain = plan.look.axes == "HWC" and plan.dtype == _BYTES and plan.recipe.mode == "RGB"
    if not plain or not idle(3, plan.steps):
        return original(_made(obj), mode)
    image = original(np.zeros((1, 1, 3), np.uint8), mode)  # with what it has to say of the mode
    return bare(image, plan.recipe.copy())


_originals: dict[tuple[str, str], Any] = {
    ("torch", "from_numpy"): torch.from_numpy,
    ("numpy", "ascontiguousarray"): np.ascontiguousarray,
}
_standing: list[tuple[dict[str, Any], str, Any, _Standing]] = []
_makers: list[tuple[dict[str, Any], str, Any, _Standing]] = []  # those of them that give arrays of what is none
_MAKERS = {"array", "asarray", "asanyarray", "ascontiguousarray", "imread", "imdecode"}
_STILL = 2  # fetches with pictures and without arrays: then it is thought that a data set has none
_known: set[str] = set()
_OURS: dict[str, dict[str, Any]] = {
    "numpy": {
        "array": _array, "asarray": _asarray, "asanyarray": _asarray, "ascontiguousarray": _contiguous, "require": _required,
        **dict.fromkeys(("zeros", "ones", "full"), _new),
    },
    "torch": {"from_numpy": _from_numpy, "as_tensor": _as_tensor, "asarray": _as_tensor, "tensor": _tensor},
}


#: What stands for OpenCV's functions by their names, and libraries over them: whether one is there, and its installation.
HANDLERS: dict[str, Callable[..., Any]] = {}
LIBRARIES: dict[str, tuple[Callable[[], bool], Callable[[], None]]] = {}


def prepare() -> None:
    """Have what stands for functions, of all modules that there are."""
    for module, functions in _OURS.items():
        if module not in _known:
            _known.add(module)
            for name, ours in functions.items():
                _stand_for(sys.modules[module], name, getattr(sys.modules[module], name), ours)
    if "cv2" in sys.modules and "cv2" not in _known:  # it takes NumPy's own type alone
        _known.add("cv2")
        module = sys.modules["cv2"]
        for name, value in list(vars(module).items()):
            if type(value) is BuiltinFunctionType:
                _stand_for(module, name, value, HANDLERS.get(name, _same))
    for library, (is_there, install) in LIBRARIES.items():
        if library not in _known and is_there():
            _known.add(library)
            undoing(lambda library=library: _known.discard(library))  # type: ignore[misc]
            install()
    if "fromarray" not in _known:
        _known.add("fromarray")
        undoing(lambda: _known.discard("fromarray"))
        replace(sys.modules["PIL.Image"], "fromarray", _from_array)
    utils = sys.modules.get("torchvision.utils")
    if hasattr(utils, "_Image_fromarray") and "ToPILImage" not in _known:  # torchvision's own copy of it
        _known.add("ToPILImage")
        undoing(lambda: _known.discard("ToPILImage"))
        replace(utils, "_Image_fromarray", _from_array)


def _stand_for(module: Any, name: str, original: Any, ours: Callable[..., Any]) -> None:
    row = vars(module), name, original, _Standing(original, ours)
    _standing.append(row)
    if name in _MAKERS:
        _makers.append(row)


@contextmanager
def standing(found: Recording) -> Iterator[None]:
    """Functions of C that take pictures and arrays are stood for within; a program may have its own in their place."""
    if "PIL.Image" not in sys.modules:
        yield
        return
    prepare()
    found.still = not _been and found.tally.still >= _STILL
    placed = [each for each in (_makers if found.still else _standing) if each[0].get(each[1]) is each[2]]
    for names, name, _, ours in placed:
        names[name] = ours
    try:
        yield
    finally:
        for names, name, original, ours in placed:
            if names.get(name) is ours:
                names[name] = original
        found.tally.still = 0 if found.wanted else found.tally.still + found.used


# When a fetch ends.


def settle(batch: Any, found: Recording) -> Any:
    """The batch with real arrays in place of all that somebody still has. A data set that keeps some gets real ones
    from then on."""
    if not found.arrays:
        return batch
    batch = _settled(batch, _DEEP, set())
    if found.again and any(seen() is not None for seen in found.arrays):  # else those that a stream's generators hold
        found.tally.arrays = False
        displace(found)
    return batch


_DEEP = 16  # objects inside one another


def _settled(value: Any, deep: int, seen: set[int]) -> Any:
    """With real arrays in it; what can be changed is changed in place."""
    if type(value) is LaterArray:
        return _made(value)
    if not deep or isinstance(value, (type, str, bytes, torch.Tensor, np.ndarray)):
        return value
    if isinstance(value, tuple):
        parts = [_settled(each, deep - 1, seen) for each in value]
        if all(map(operator.is_, parts, value)):
            return value
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    inside: Any = value if isinstance(value, (list, dict)) else getattr(value, "__dict__", None)
    if isinstance(inside, (list, dict)) and id(inside) not in seen:
        seen.add(id(inside))
        for key, each in _pairs(inside):
            real = _settled(each, deep - 1, seen)
            if real is not each:
                inside[key] = real
    return value


def _pairs(inside: Any) -> list[tuple[Any, Any]]:
    if isinstance(inside, list):
        return list(enumerate(inside))
    return list(inside.items()) if isinstance(inside, dict) else []


def displace(found: Recording) -> None:
    """Put real arrays in place of those that are left, wherever Python can see that somebody has them."""
    kept = {id(later): later for later in (seen() for seen in found.arrays) if later is not None}
    if not kept:
        return
    for holder in gc.get_referrers(*kept.values()):
        if holder is not kept:
            _displace(holder, kept)


def _displace(holder: Any, kept: dict[int, Any]) -> None:
    if type(holder) is CellType:
        if id(holder.cell_contents) in kept:
            holder.cell_contents = _made(holder.cell_contents)
    elif isinstance(holder, (list, dict)):
        _settled(holder, 1, set())
    elif isinstance(holder, tuple):
        real = _settled(holder, 1, set())
        for outer in gc.get_referrers(holder):
            for key, each in _pairs(outer):
                if each is holder:
                    outer[key] = real


def refused() -> bool:
    """Whether none of pictures may wait."""
    return bool(_refused[_ARRAYS])


def refuse(found: Recording) -> str:
    """After an error where arrays waited: none of that kind wait any more, here and in all that have come of the same
    process. What is at once from here on; empty where there were none."""
    if found.blanks:
        _refused[_BLANKS] = 1
        return "new arrays are made at once"
    if found.waited:
        _refused[_ARRAYS] = 1
        return "arrays of pictures are made at once"
    return ""
