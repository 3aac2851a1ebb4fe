"""Pictures that torchvision's pil_loader opens, without the way there through Python's files and Pillow's opening.

What comes of a file depends on its header, and on nothing else before its pixels are wanted. So the first file of a
kind is opened by Pillow. Of others that begin with the same bytes, but for the picture's sides, the image is made as it
was then: that of pil_loader knows nothing of the file but its mode, its sides and what Pillow has found out.
"""

from __future__ import annotations

import builtins
import io
import os
import pathlib
import sys
from typing import Any

from . import _files, _headers, _jpeg, _pictures
from ._compose import same_image
from ._known import Places, digest, there
from ._pictures import Recipe, Recording, Source, _of, recording, replace, undoing

_HOME = "torchvision.datasets.folder"
_KNOWN = {"e4ac6e98c74f087dce6e8e7366d546b5"}  # digests of pil_loader, of torchvision 0.19 to 0.29
_TRIED = 64  # files that are read in vain before any was known
_done: set[str] = set()


def install(worker: bool) -> None:
    """Put it in place in a worker, once torchvision has been imported; in a trainer, see to what its workers need."""
    module = sys.modules.get(_HOME)
    if module is None or _done or digest(getattr(module, "pil_loader", None)) not in _KNOWN or not worker or not _usual():
        return
    _done.add("torchvision")
    undoing(_done.clear)
    replace(module, "pil_loader", _Loader(module))


def _usual() -> bool:
    """Whether Pillow's functions on the way are its own."""
    pillow, plugin = sys.modules["PIL.Image"], sys.modules["PIL.JpegImagePlugin"]
    inherited = (getattr(plugin.JpegImageFile, name) for name in there(plugin.JpegImageFile, "convert copy _new _copy_info"))
    return _of(plugin.jpeg_factory, plugin) and all(_of(each, pillow) for each in (pillow.open, *inherited))


class _Loader:
    """In place of pil_loader."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self._pillow, self._files, self._plugin = (sys.modules[f"PIL.{name}"] for name in ("Image", "ImageFile", "JpegImagePlugin"))
        kind = self._plugin.JpegImageFile
        self._places = Places(
            (builtins, "open"),
            (module, "Image"),
            (self._pillow, "open _decompression_bomb_check"),
            (self._plugin, "jpeg_factory"),
            (kind, "__init__ _open _getmp load convert copy im _new _copy_info"),
        )
        self._first: list[tuple[str, Any]] = []  # kinds of file that Pillow tries up to JPEGs
        self._vain, self._found = 0, 0

    def __call__(self, original: Any, *args: Any, **named: Any) -> Any:
        now = recording()
        if now is None or len(args) != 1 or named or self._vain > _TRIED + self._found or not self._usual(now):
            return original(*args, **named)
        image = self._again(now, args[0])
        if image is not None:
            self._found += 1
            return image
        self._vain += 1
        before = now.newest
        image = original(*args)
        if now.newest is not before:
            self._learn(now, image)
        return image

    def _usual(self, now: Recording) -> bool:
        if now.opens is None:
            own = self._places.same_code() and builtins.open is io.open and "open" not in vars(self._module)
            now.opens = own and "JPEG" not in _pictures.left and _headers.usual(now)
        known = now.opens and now.trusts and now.tally.worth() and not self._files.LOAD_TRUNCATED_IMAGES
        return known and self._places.unchanged() and self._order(len(self._first)) == self._first

    def _order(self, count: int) -> list[tuple[str, Any]]:
        """The first kinds of file that Pillow tries, and what tells them."""
        return [(name, self._pillow.OPEN.get(name)) for name in self._pillow.ID[:count]]

    def _again(self, now: Recording, path: Any) -> Any:
        """The image of a file that begins as an earlier one did; None: it is opened as ever."""
        if type(path) is not str and not isinstance(path, pathlib.PurePath):
            return None
        files = now.files = now.files or _files.take()
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except (OSError, ValueError):
            return None
        try:
            data = files.fill(descriptor)
        except OSError:
            return None
        finally:
            os.close(descriptor)
        known = None if data is None else _headers.find(bytes(data[: _headers.LONGEST]))
        if known is None or known[0].loaded is None or data[-2:] != b"\xff\xd9":
            return None
        begun, sides, _ = known
        width, height = size = _headers.sides_of(sides)
        most = self._pillow.MAX_IMAGE_PIXELS
        if not width or not height or most is not None and width * height > most:
            return None
        now.newest = source = Source(data, "JPEG", "RGB", size)
        files.keep(source)
        now.tally.opened += 1
        return begun.loaded._new(Recipe(source, (), "RGB", size))

    def _learn(self, now: Recording, image: Any) -> None:
        """Keep what has become of a file that waits, where its image is told by the header alone."""
        recipe, source = getattr(image, "_im", None), now.newest
        if type(recipe) is not Recipe or recipe.source is not source or recipe.ops or recipe.mode != "RGB":
            return
        known = _headers.find(bytes(source.data[: _headers.LONGEST]))
        factory, _ = self._pillow.OPEN["JPEG"]
        if known is None or factory is not self._plugin.jpeg_factory or not _jpeg.known(source.data, known[2]):
            return
        begun = self._pillow.Image()
        begun.info = dict(known[0].info)
        if not same_image(image, begun._new(recipe)):
            return
        if not self._first:
            self._first = self._order(self._pillow.ID.index("JPEG") + 1)
        known[0].loaded = begun
