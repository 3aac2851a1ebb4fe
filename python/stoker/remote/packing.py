"""A batch as one array of bytes, and the rest of it pickled."""

from __future__ import annotations

import io
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from ray import cloudpickle

from ..handover import receiving
from ..handover.memory import ALIGN
from ..handover.sending import Packer, copyable_bytes

if TYPE_CHECKING:
    pass

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


def unpack(head: bytes, blob: np.ndarray) -> Any:
    """Return what was packed, with a copy for each tensor and array, so that keeping one does not keep the batch."""
    places, body = pickle.loads(head)
    with receiving.reading(_Copies(blob, places)):
        return _Unpickler(io.BytesIO(body)).load()


class _Copies(receiving.Buffers):
    """Copies of a packed batch's parts. A part that the program keeps does not keep the others."""

    def __init__(self, blob: np.ndarray, places: list[Any]) -> None:
        super().__init__([], places, bytearray(), True)
        self._blob = blob

    def _locate(self, place: Any) -> Any:
        _, at, size, left_out = place
        copy = torch.empty(size, dtype=torch.uint8, device="cpu").numpy()
        copy[:] = self._blob[at : at + size]
        return copy, 0, size, left_out
