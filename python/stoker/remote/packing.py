"""A batch as one array of bytes, and the rest of it pickled."""

from __future__ import annotations

import ctypes
import io
import pickle
import resource
from typing import Any

import numpy as np

from ..handover import receiving
from ..handover.lease import count_leases
from ..handover.memory import ALIGN
from ..handover.sending import Packer, copyable_bytes
from .pickling import cloudpickle

_PACKAGE = __name__.rpartition(".remote.")[0]
_NAME = "stoker"  # the package in an actor


class _Pickler(cloudpickle.Pickler):
    """Ray's pickler, which knows classes of the program's script, with storages and arrays replaced by references."""

    def __init__(self, out: io.BytesIO, found: Packer) -> None:
        super().__init__(out)
        self._found = found

    def reducer_override(self, thing: object) -> Any:
        found = self._found.reduce(thing)
        return super().reducer_override(thing) if found is NotImplemented else found


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] == _NAME:  # here the package may have another name
            module = _PACKAGE + module[len(_NAME) :]
        return super().find_class(module, name)


def pack(what: object) -> tuple[bytes, np.ndarray]:
    """Return what a worker sends, pickled, and the bytes of its tensors and arrays."""
    packer = Packer()
    body = packer.pack(what, _Pickler)
    copied = [copyable_bytes(source) for source in packer.sources]
    places, end = [], 0
    for found, left_out in copied:
        places.append((0, end, found.numel(), left_out))
        end += -(-found.numel() // ALIGN) * ALIGN
    blob = np.empty(end, np.uint8)
    for (_, at, size, _), (found, _) in zip(places, copied):
        blob[at : at + size] = found.numpy()
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
    with receiving.reading(receiving.Buffers([buffer], places, bytearray(), copies)):
        return _Unpickler(io.BytesIO(body)).load()
