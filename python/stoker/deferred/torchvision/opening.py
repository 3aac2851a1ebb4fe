"""Files that torchvision's pil_loader or Pillow itself opens, without the way there through Pillow's Python.

What comes of a JPEG depends on its header, and on nothing else before its pixels are wanted. So the first file of a
kind is opened by Pillow. Of others that begin with the same bytes, but for the picture's sides, the image is made as it
was then. That of pil_loader knows nothing of the file but its mode, its sides and what Pillow has found out.
"""

from __future__ import annotations

import builtins
import io
import os
import pathlib
import sys
from typing import Any

from ...daemon import files as _files
from ..recipes import headers, jpeg, pictures
from ..recipes.known import Places, digest, there
from ..recipes.pictures import Recipe, Recording, Source, recording, undoing
from ..recipes.standins import is_own, replace
from .compose import same_image

_HOME = "torchvision.datasets.folder"
_KNOWN = {"e4ac6e98c74f087dce6e8e7366d546b5"}  # digests of pil_loader, of torchvision 0.19 to 0.29
_TRIED = 64  # files that are looked at in vain before any was known
_done: set[str] = set()


def install(worker: bool) -> None:
    """Put it in place in a worker, as far as what it is for has been imported; in a trainer, see to what its workers
    need."""
    module = sys.modules.get(_HOME)
    known = module is not None and "loader" not in _done and digest(getattr(module, "pil_loader", None)) in _KNOWN
    if not worker or "PIL.JpegImagePlugin" not in sys.modules or not known and "Pillow" in _done or not _usual():
        return
    undoing(_done.clear)
    if "Pillow" not in _done:
        _done.add("Pillow")
        replace(sys.modules["PIL.Image"], "open", _Opener())
    if known:
        _done.add("loader")
        replace(module, "pil_loader", _Loader(module))


def _usual() -> bool:
    """Whether Pillow's functions on the way are its own."""
    pillow, file, plugin = (sys.modules[f"PIL.{name}"] for name in _MODULES)
    inherited = [getattr(plugin.JpegImageFile, name) for name in there(plugin.JpegImageFile, "convert copy _new _copy_info")]
    others = is_own(plugin.jpeg_factory, plugin) and is_own(plugin.JpegImageFile._getmp, plugin) and is_own(plugin.JpegImageFile.__init__, file)
    return others and all(is_own(each, pillow) for each in (pillow.open, *inherited))


_MODULES = "Image", "ImageFile", "JpegImagePlugin"


class _Again:
    """Stands for a function that gets a file and opens it."""

    def __init__(self, *places: tuple[Any, str]) -> None:
        self._pillow, self._file, self._plugin = (sys.modules[f"PIL.{name}"] for name in _MODULES)
        self._kind = self._plugin.JpegImageFile
        self._places = Places(
            (builtins, "open"),
            (self._pillow, "_decompression_bomb_check"),
            (self._plugin, "jpeg_factory JpegImageFile"),
            (self._kind, "__init__ _open _getmp load convert copy im _new _copy_info"),
            *places,
        )
        self._first: list[tuple[str, Any]] = []  # kinds of file that Pillow tries up to JPEGs
        self._vain, self._found = 0, 0

    def __call__(self, original: Any, *args: Any, **named: Any) -> Any:
        now = recording()
        if now is None or len(args) != 1 or named or self._vain > _TRIED + self._found or not self._usual(now):
            return original(*args, **named)
        image, seen = self.again(now, args[0])
        if image is not None:
            self._found += 1
            return image
        self._vain += 1
        before = now.newest
        image = original(*args)
        if self.learn(now, before, image, seen) and not self._first:
            self._first = self._order(self._pillow.ID.index("JPEG") + 1)
        return image

    def again(self, now: Recording, file: Any) -> tuple[Any, Any]:
        """The image of one that begins as an earlier one did; or what learn is to know of it."""
        raise NotImplementedError

    def learn(self, now: Recording, before: Any, image: Any, seen: Any) -> bool:
        """Keep what has become of it, where that is told by the header alone."""
        raise NotImplementedError

    def _usual(self, now: Recording) -> bool:
        own = now.opens.get(self)
        if own is None:
            own = now.opens[self] = self._places.same_code() and builtins.open is io.open and headers.usual(now)
        return own and self._places.unchanged() and self._order(len(self._first)) == self._first

    def _order(self, count: int) -> list[tuple[str, Any]]:
        """The first kinds of file that Pillow tries, and what tells them."""
        return [(name, self._pillow.OPEN.get(name)) for name in self._pillow.ID[:count]]

    def _pillows(self) -> bool:
        """Whether it is Pillow itself that makes JPEGs."""
        return self._pillow.OPEN["JPEG"][0] is self._plugin.jpeg_factory

    def _plain(self, width: int, height: int) -> bool:
        """Whether a picture of these sides is one, and nothing is said of it."""
        most = self._pillow.MAX_IMAGE_PIXELS
        return width > 0 < height and (most is None or width * height <= most)


class _Loader(_Again):
    """In place of pil_loader."""

    def __init__(self, module: Any) -> None:
        super().__init__((module, "Image"), (sys.modules["PIL.Image"], "open"))
        self._module = module

    def again(self, now: Recording, file: Any) -> tuple[Any, Any]:
        if "JPEG" in pictures.left or "open" in vars(self._module) or type(file) is not str and not isinstance(file, pathlib.PurePath):
            return None, None
        files = now.files = now.files or _files.take()
        try:
            descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        except (OSError, ValueError):
            return None, None
        try:
            data = files.fill(descriptor)
        except OSError:
            return None, None
        finally:
            os.close(descriptor)
        known = None if data is None else headers.find(bytes(data[: headers.LONGEST]))
        if known is None or known[0].loaded is None or not jpeg.sound(data, known[2]):
            return None, None
        size = headers.sides_of(known[1])
        if not self._plain(*size):
            return None, None
        now.newest = source = Source(data, "RGB", size)
        files.keep(source)
        now.tally.opened += 1
        return known[0].loaded._new(Recipe(source, (), "RGB", size)), None

    def learn(self, now: Recording, before: Any, image: Any, seen: Any) -> bool:
        recipe, source = getattr(image, "_im", None), now.newest
        if source is before or type(recipe) is not Recipe or recipe.source is not source or recipe.ops or recipe.mode != "RGB":
            return False
        known = headers.find(bytes(source.data[: headers.LONGEST]))
        if known is None or not self._pillows() or not jpeg.sound(source.data, known[2]):
            return False
        begun = self._pillow.Image()
        begun.info = dict(known[0].info)
        if not same_image(image, begun._new(recipe)):
            return False
        known[0].loaded = begun
        return True


class _Opener(_Again):
    """In place of Image.open."""

    def again(self, now: Recording, file: Any) -> tuple[Any, Any]:
        path = type(file) is str or isinstance(file, pathlib.PurePath)
        if not path and type(file) not in headers.FILES:
            return None, None
        filename = os.fspath(file) if path else ""
        try:
            opened = io.open(filename, "rb") if path else file  # noqa: UP020 # not what somebody has put in its place
            opened.seek(0)
            head = headers.ahead(opened)
            known = headers.find(head)
            kinds = None if known is None else known[0].opened.get(path)
            if kinds is not None and self._plain(*headers.sides_of(known[1])) and self._file.MAXBLOCK == kinds["decodermaxblock"]:
                opened.read(known[2])
                return self._made(known, kinds, opened, filename, path), None
        except (OSError, ValueError):
            return None, None
        if path:
            opened.close()
        return None, (path, head)

    def _made(self, known: Any, kinds: dict[str, Any], file: Any, filename: Any, path: bool) -> Any:
        image = self._kind.__new__(self._kind)
        own = vars(image)
        own.update(kinds, info={}, fp=file, filename=filename, _exclusive_fp=path)
        known[0].give(image, known[1])
        return image

    def learn(self, now: Recording, before: Any, image: Any, seen: Any) -> bool:
        known = None if seen is None else headers.find(seen[1])
        if known is None or type(image) is not self._kind or not self._pillows() or "mp" in image.info:
            return False
        path, read, own = seen[0], known[0], vars(image)
        given = {"info", "fp", "filename", "_exclusive_fp", "tile", "_size", *(name for name, _ in read.made), *read.plain}
        kinds = {name: value for name, value in own.items() if name not in given}
        made = self._made(known, kinds, image.fp, image.filename, path)
        if not all(map(headers.fixed, kinds.values())) or "decodermaxblock" not in kinds or not _alike(own, vars(made)):
            return False
        read.opened[path] = kinds
        return True


def _alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether what two images have is equal, of the same types."""
    return one == other and all(type(one[name]) is type(other[name]) for name in one)
