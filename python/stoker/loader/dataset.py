"""The files and labels of a torch data set, as far as the daemon can read them.

The program may change its data set at any time: replace lists, a transform or a method. So the data
set is examined at the start of each epoch, and if it runs other code than torchvision's, torch
loads it.
"""

from __future__ import annotations

import operator
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from . import pack
from .translate import Refused

if TYPE_CHECKING:
    from types import ModuleType

    from torchvision.datasets import DatasetFolder


class Samples(NamedTuple):
    """Files and labels, in the data set's order."""

    root: str  # an absolute path
    rows: list[tuple[str, Any]]  # path and label, as the data set has them
    where: str  # the folder of relative paths
    integers: bool  # whether all labels are int: then the daemon hands them out

    def is_same(self, other: Samples) -> bool:
        """Whether nothing has changed: rows are immutable tuples, so comparing identities is
        enough."""
        alike = self.root == other.root and self.where == other.where and len(self.rows) == len(other.rows)
        return alike and all(map(operator.is_, self.rows, other.rows))

    def encode(self) -> bytes:
        """Encode the list for the daemon (feed/source/parse.go): count, labels, and paths that end
        in a zero byte."""
        labels = np.array([label for _, label in self.rows] if self.integers else [0] * len(self.rows), np.int64)
        paths = "".join([self._below(path) + "\0" for path, _ in self.rows])
        return b"".join((len(self.rows).to_bytes(8, "little"), labels.astype("<i8").tobytes(), os.fsencode(paths)))

    def _below(self, path: str) -> str:
        """Return a path relative to root if it is below, so that the list does not depend on the
        root."""
        if path[0] != "/":
            path = os.path.join(self.where, path)  # not normalised: after a symbolic link, ".." leads elsewhere
        below = path[len(self.root) + 1 :] if path.startswith(self.root + "/") else ""
        return below if below and not below.startswith("/") else path


#: Extensions of ImageFolder that the daemon does not read.
_UNREAD = (".bmp", ".pgm", ".tif", ".tiff", ".webp")


def read_samples(folder: DatasetFolder | pack.Pack, indices: list[int] | None) -> Samples:
    """Return a folder's samples, or those of a Subset. Raises Refused if they are unusual."""
    rows = folder.samples
    if type(rows) not in (list, tuple) or not all(map(_is_plain, rows)):
        raise Refused("the ImageFolder's samples are not tuples of a path and a label")
    try:
        rows = list(rows) if indices is None else [rows[i] for i in indices]
    except IndexError:
        raise Refused("the Subset has indices that are not in its data set") from None
    if not rows:
        raise Refused("the data set is empty")
    if (unread := next((path for path, _ in rows if path.lower().endswith(_UNREAD)), None)) is not None:
        raise Refused(f"{unread} is no JPEG or PNG, and Pillow reads it for less")
    where = os.getcwd()
    root = os.path.join(where, os.fspath(folder.root)).rstrip("/")
    if not os.path.isdir(root or "/"):
        root = ""  # the files are outside of it
    integers = all(type(label) is int and -(1 << 63) <= label < 1 << 63 for _, label in rows)
    return Samples(root or "/", rows, where, integers)


def _is_plain(row: object) -> bool:
    return type(row) is tuple and len(row) == 2 and type(row[0]) is str and row[0] != "" and "\0" not in row[0]


def find_folder(dataset: torch.utils.data.Dataset[Any]) -> tuple[Any, list[int] | None]:
    """Return the folder that a data set reads, and the indices if it is a Subset, possibly nested."""
    indices: list[int] | None = None
    while type(dataset) is torch.utils.data.Subset:
        if not _is_own(torch.utils.data.Subset, torch.utils.data.dataset, "__getitem__", "__getitems__", "__len__"):
            raise Refused("torch's Subset was changed")
        chosen = [int(i) for i in dataset.indices]
        try:
            indices = chosen if indices is None else [chosen[i] for i in indices]
        except IndexError:
            raise Refused("the Subset has indices that are not in its data set") from None
        dataset = dataset.dataset
    _check_folder(dataset)
    return dataset, indices


def _check_folder(folder: object) -> None:
    """Raise Refused unless the folder reads as torchvision's ImageFolder does."""
    if type(folder) is pack.Pack:
        if not _is_own(pack.Pack, pack, "__getitem__", "__len__"):
            raise Refused("stoker.Pack was changed")
        from PIL import Image, ImageFile

        if ImageFile.LOAD_TRUNCATED_IMAGES or not _is_own(Image, Image, "open"):
            raise Refused("Pillow was changed")
        return
    try:
        from PIL import Image, ImageFile
        from torchvision import get_image_backend
        from torchvision.datasets import folder as module
    except ImportError:
        raise Refused(f"{type(folder).__name__} is not a torchvision ImageFolder") from None
    kind = type(folder)
    if not isinstance(folder, module.DatasetFolder):
        raise Refused(f"{kind.__name__} is not a torchvision ImageFolder")
    inherits = kind.__getattribute__ is object.__getattribute__ and not hasattr(folder, "__getitems__")
    if not inherits or not _is_own(kind, module, "__getitem__", "__len__"):
        raise Refused(f"{kind.__name__} is an ImageFolder with a __getitem__ or __len__ of its own")
    pillow = (
        folder.loader is module.pil_loader or folder.loader is module.default_loader and get_image_backend() == "PIL"
    )
    if not pillow or not _is_own(module, module, "pil_loader", "default_loader") or not _is_own(Image, Image, "open"):
        raise Refused("the ImageFolder has a loader of its own")
    if ImageFile.LOAD_TRUNCATED_IMAGES:
        raise Refused("PIL.ImageFile.LOAD_TRUNCATED_IMAGES is set, which makes pictures of damaged files")


def _is_own(owner: object, module: ModuleType, *names: str) -> bool:
    """Whether these functions are defined in the module's own file."""
    codes = [getattr(getattr(owner, name, None), "__code__", None) for name in names]
    return all(code is not None and code.co_filename == module.__file__ for code in codes)
