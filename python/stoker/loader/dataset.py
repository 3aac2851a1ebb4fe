"""What the daemon can read of a torch data set: its files and labels, as they are now.

A data set is the user's own and may be changed at any time: lists set anew, a
transform put in, a method replaced. So nothing of it is taken for granted: it is
looked at when an epoch begins, and what is not torchvision's own code is left to it.
"""

from __future__ import annotations

import operator
import os
from typing import Any, NamedTuple

import numpy as np
import torch

from . import pack
from .translate import Refused


class Samples(NamedTuple):
    """Files and labels, in the data set's order."""

    root: str  # absolute
    rows: list[tuple[str, Any]]  # path and label, as the data set has them
    where: str  # what relative paths are relative to
    integers: bool  # all labels are int: the daemon hands them out

    def same(self, other: Samples) -> bool:
        """Whether nothing was changed. Rows are tuples of what cannot change: the same objects are the same samples."""
        alike = self.root == other.root and self.where == other.where and len(self.rows) == len(other.rows)
        return alike and all(map(operator.is_, self.rows, other.rows))

    def encoded(self) -> bytes:
        """The list as the daemon reads it (feed/source/parse.go): count, labels, paths with a zero byte behind each."""
        labels = np.array([label for _, label in self.rows] if self.integers else [0] * len(self.rows), np.int64)
        paths = "".join([self._below(path) + "\0" for path, _ in self.rows])
        return b"".join((len(self.rows).to_bytes(8, "little"), labels.astype("<i8").tobytes(), os.fsencode(paths)))

    def _below(self, path: str) -> str:
        """Relative to root where it lies there, so that the list is the same wherever the root is."""
        if path[0] != "/":
            path = os.path.join(self.where, path)  # not normalised: behind a symbolic link ".." is not what it seems
        below = path[len(self.root) + 1 :] if path.startswith(self.root + "/") else ""
        return below if below and not below.startswith("/") else path


def samples_of(folder: Any, indices: list[int] | None) -> Samples:
    """The samples that a folder has now, or those of a Subset of it; Refused where they are not plain."""
    rows = folder.samples
    if type(rows) not in (list, tuple) or not all(map(_plain, rows)):
        raise Refused("the ImageFolder's samples are not tuples of a path and a label")
    try:
        rows = list(rows) if indices is None else [rows[i] for i in indices]
    except IndexError:
        raise Refused("the Subset has indices that are not in its data set") from None
    if not rows:
        raise Refused("the data set is empty")
    where = os.getcwd()
    root = os.path.join(where, os.fspath(folder.root)).rstrip("/")
    if not os.path.isdir(root or "/"):
        root = ""  # the files may be elsewhere
    integers = all(type(label) is int and -(1 << 63) <= label < 1 << 63 for _, label in rows)
    return Samples(root or "/", rows, where, integers)


def _plain(row: Any) -> bool:
    return type(row) is tuple and len(row) == 2 and type(row[0]) is str and row[0] != "" and "\0" not in row[0]


def folder_of(dataset: Any) -> tuple[Any, list[int] | None]:
    """The folder that a data set reads, and which of its samples where it is a Subset, of a Subset perhaps."""
    indices: list[int] | None = None
    while type(dataset) is torch.utils.data.Subset:
        if not _own(torch.utils.data.Subset, torch.utils.data.dataset, "__getitem__", "__getitems__", "__len__"):
            raise Refused("torch's Subset was changed")
        chosen = [int(i) for i in dataset.indices]
        try:
            indices = chosen if indices is None else [chosen[i] for i in indices]
        except IndexError:
            raise Refused("the Subset has indices that are not in its data set") from None
        dataset = dataset.dataset
    _check(dataset)
    return dataset, indices


def _check(folder: Any) -> None:
    """Refuse what does not read, or not as torchvision's ImageFolder does."""
    if type(folder) is pack.Pack:
        if not _own(pack.Pack, pack, "__getitem__", "__len__"):
            raise Refused("stoker.Pack was changed")
        from PIL import Image, ImageFile

        if ImageFile.LOAD_TRUNCATED_IMAGES or not _own(Image, Image, "open"):
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
    if not inherits or not _own(kind, module, "__getitem__", "__len__"):
        raise Refused(f"{kind.__name__} is an ImageFolder with a __getitem__ or __len__ of its own")
    pillow = (
        folder.loader is module.pil_loader or folder.loader is module.default_loader and get_image_backend() == "PIL"
    )
    if not pillow or not _own(module, module, "pil_loader", "default_loader") or not _own(Image, Image, "open"):
        raise Refused("the ImageFolder has a loader of its own")
    if ImageFile.LOAD_TRUNCATED_IMAGES:
        raise Refused("PIL.ImageFile.LOAD_TRUNCATED_IMAGES is set, which makes pictures of damaged files")


def _own(owner: Any, module: Any, *names: str) -> bool:
    """Whether these functions are those that a module's own file defines: nothing was put in their place."""
    codes = [getattr(getattr(owner, name, None), "__code__", None) for name in names]
    return all(code is not None and code.co_filename == module.__file__ for code in codes)
