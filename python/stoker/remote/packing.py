"""A batch as one array of bytes, and the rest of it pickled by Ray's pickler. And what cannot be packed: files that a data set names."""

from __future__ import annotations

import collections
import ctypes
import importlib.util
import io
import itertools
import mmap
import os
import pickle
import resource
import sys
import types
from typing import Any

import numpy as np
import torch

from ..handover import receiving
from ..handover.lease import count_leases, stand_for_shared, watch
from ..handover.memory import ALIGN
from ..handover.sending import Packer, find_bytes

_PACKAGE = __name__.rpartition(".remote.")[0]
_NAME = "stoker"  # the package in an actor
_PICKLER = "stoker_cloudpickle"
_MAPPED = 64 << 20  # bytes [J]: a smaller memory map is sent with what it holds, and nodes need no file
_MOST_LOOKED_AT = 1000  # values [J], in the order of their distance: paths lie near the data set
_OF_EACH = 16  # entries [J] of a dict
_SENT = (np.ndarray, torch.Tensor)  # sent with what they hold, so a memory map's file is not needed there


def _load_pickler() -> Any:
    """Return Ray's pickler, which knows classes of the program's script, without Ray: its file is loaded by its path.

    It has the same name in all processes, because what it writes names it.
    """
    if _PICKLER in sys.modules:
        return sys.modules[_PICKLER]
    ray = importlib.util.find_spec("ray")
    if ray is None or ray.origin is None:
        raise ImportError("No module named 'ray'")
    spec = importlib.util.spec_from_file_location(_PICKLER, os.path.join(os.path.dirname(ray.origin), "cloudpickle", "cloudpickle.py"))
    if spec is None or spec.loader is None:
        raise ImportError("Ray has no cloudpickle")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, "Pickler"):
        raise ImportError("Ray is older than 2.30")
    sys.modules[_PICKLER] = module
    return module


cloudpickle = _load_pickler()


class _Pickler(cloudpickle.Pickler):
    """Ray's pickler, which knows classes of the program's script, with storages and arrays replaced by references."""

    def __init__(self, out: io.BytesIO, found: Packer) -> None:
        super().__init__(out)
        self._found = found

    def reducer_override(self, thing: object) -> Any:
        found = self._found.reduce(thing)
        if found is NotImplemented and _has_lost_slots(type(thing)):
            reduced: Any = thing.__reduce_ex__(2)
            if isinstance(reduced, tuple) and len(reduced) > 2 and reduced[2]:
                states = reduced[2] if isinstance(reduced[2], tuple) else (reduced[2],)
                return *reduced[:2], (None, dict(collections.ChainMap(*filter(None, states)))), *reduced[3:]
        return super().reducer_override(thing) if found is NotImplemented else found


def _has_lost_slots(kind: type) -> bool:
    """Whether a class of the script had slots: cloudpickle makes it here without them."""
    names = vars(kind).get("__slots__", ())
    names = [names] if isinstance(names, str) else names
    return bool(names) and not hasattr(kind, "__setstate__") and not any(isinstance(vars(kind).get(name), types.MemberDescriptorType) for name in names)


class DatasetPickler(cloudpickle.Pickler):
    """Ray's pickler. Refuses what the program and its workers share, and lets a large file that is mapped be mapped there."""

    def reducer_override(self, thing: object) -> Any:
        if isinstance(thing, torch.Tensor) and thing.device.type == "cpu" and thing.is_shared():
            raise ValueError("it has a tensor in shared memory, of which workers elsewhere would not see what the program writes")
        mapped = reduce_mapped(thing)
        return super().reducer_override(thing) if mapped is None else mapped


def reduce_mapped(thing: object) -> Any:
    """Return how to map the file of a large memory map again, as pickle wants it; None for anything else."""
    if not isinstance(thing, np.memmap) or thing.nbytes <= _MAPPED or not thing.flags.c_contiguous or thing.filename is None:
        return None
    owner: Any = thing
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if not isinstance(owner, np.memmap) or not isinstance(owner.base, mmap.mmap):  # no view of that file
        return None
    begin = owner.offset + thing.ctypes.data - owner.ctypes.data
    mode = "r+" if thing.mode == "w+" else thing.mode
    return np.memmap, (os.path.abspath(os.fspath(thing.filename)), thing.dtype, mode, begin, thing.shape)


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] == _NAME:  # here the package may have another name
            module = _PACKAGE + module[len(_NAME) :]
        return super().find_class(module, name)


def pack(what: object) -> tuple[bytes, np.ndarray]:
    """Return what a worker sends, pickled, and the bytes of its tensors and arrays."""
    packer = Packer()
    body = packer.pack(what, _Pickler)
    copied = [find_bytes(source) for source in packer.sources]
    places, end = [], 0
    for _, size, left_out in copied:
        places.append((0, end, size, left_out))
        end += -(-size // ALIGN) * ALIGN
    blob = np.empty(end, np.uint8)
    for (_, at, size, _), (address, _, _) in zip(places, copied):
        ctypes.memmove(blob.ctypes.data + at, address, size)
    return pickle.dumps((places, body)), blob


_HELD = 64  # batches [J] in rooms: half of those that a driver has. If the program keeps more, further ones are copied
_PART = 8  # or rooms that take this part of the descriptors allowed [J]


def unpack(head: bytes, blob: np.ndarray) -> Any:
    """Return what was packed, with its tensors and arrays over these bytes, which are this process's own."""
    places, body = pickle.loads(head)
    buffer = (ctypes.c_ubyte * blob.nbytes).from_address(blob.ctypes.data)
    buffer.blob = blob  # lives as long as the buffer
    many = count_leases() > min(_HELD, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // _PART)
    copies = many or blob.ctypes.data % ALIGN != 0
    stand_for_shared()
    watch(buffer, blob.ctypes.data, blob.nbytes)
    with receiving.reading(receiving.Buffers([buffer], places, b"", copies)):
        return _Unpickler(io.BytesIO(body)).load()


def find_paths(dataset: Any) -> list[str]:
    """Return what a data set's attributes name that is on this machine, as far as a short look finds it."""
    found: dict[str, None] = {}
    waiting = collections.deque([dataset])
    for _ in range(_MOST_LOOKED_AT):
        if not waiting:
            break
        each = waiting.popleft()
        if isinstance(each, (str, os.PathLike)):
            path = os.fspath(each)
            if isinstance(path, str) and os.sep in path and os.path.exists(path):
                found[os.path.abspath(path)] = None
        elif isinstance(each, (list, tuple)):
            waiting.extend((*each[:1], *each[-1:]))
        elif isinstance(each, dict):
            waiting.extend(itertools.islice(each.values(), _OF_EACH))
        elif not isinstance(each, (type, *_SENT)):
            waiting.extend(getattr(each, "__dict__", {}).values())
    return list(found)
