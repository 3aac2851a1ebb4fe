"""Opening JPEGs for pil_loader and Image.open, without Pillow's Python code for each file.

Until its pixels are needed, an opened JPEG depends only on its header. So Pillow opens the first
file of a kind. For files that begin with the same bytes, apart from the sides, an equal image is
made. The image of pil_loader knows only mode and size, and what Pillow put into `info`.
"""

from __future__ import annotations

import builtins
import io
import os
import pathlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO

from ...daemon import files as _files
from ..recipes import headers, jpeg, pictures
from ..recipes.digests import Places, digest, list_existing
from ..recipes.pictures import Recipe, Recording, Source, on_uninstall, recording
from ..recipes.replacements import is_own, replace
from .compose import same_image

if TYPE_CHECKING:
    from types import ModuleType

    from PIL.Image import Image

_HOME = "torchvision.datasets.folder"
_KNOWN = {"e4ac6e98c74f087dce6e8e7366d546b5"}  # digests of pil_loader, of torchvision 0.19 to 0.29
_TRIED = 64  # files tried in vain before the first success
_done: set[str] = set()


def install(worker: bool) -> None:
    """Patch Pillow and torchvision in a worker, as far as imported; in a trainer, only check."""
    module = sys.modules.get(_HOME)
    known = module is not None and "loader" not in _done and digest(getattr(module, "pil_loader", None)) in _KNOWN
    if not worker or "PIL.JpegImagePlugin" not in sys.modules or not known and "Pillow" in _done or not _is_library_code():
        return
    on_uninstall(_done.clear)
    if "Pillow" not in _done:
        _done.add("Pillow")
        replace(sys.modules["PIL.Image"], "open", _Opener())
    if known:
        _done.add("loader")
        replace(module, "pil_loader", _Loader(module))


def _is_library_code() -> bool:
    """Whether the functions of Pillow that are skipped are its own."""
    pillow, file, plugin = (sys.modules[f"PIL.{name}"] for name in _MODULES)
    inherited = [getattr(plugin.JpegImageFile, name) for name in list_existing(plugin.JpegImageFile, "convert copy _new _copy_info")]
    others = is_own(plugin.jpeg_factory, plugin) and is_own(plugin.JpegImageFile._getmp, plugin) and is_own(plugin.JpegImageFile.__init__, file)
    return others and all(is_own(each, pillow) for each in (pillow.open, *inherited))


_MODULES = "Image", "ImageFile", "JpegImagePlugin"


class _Opening:
    """Replaces a function that opens one file."""

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
        self._first: list[tuple[str, Any]] = []  # file formats that Pillow tries, up to JPEG
        self._misses, self._found = 0, 0

    def __call__(self, original: Callable[..., Image], *args: Any, **named: Any) -> Any:
        now = recording()
        if now is None or len(args) != 1 or named or self._misses > _TRIED + self._found or not self._is_usual(now):
            return original(*args, **named)
        image, seen = self.reopen(now, args[0])
        if image is not None:
            self._found += 1
            return image
        self._misses += 1
        before = now.newest
        image = original(*args)
        if self.learn(now, before, image, seen) and not self._first:
            self._first = self._order(self._pillow.ID.index("JPEG") + 1)
        return image

    def reopen(self, now: Recording, file: str | os.PathLike[str] | BinaryIO) -> tuple[Any, Any]:
        """Return the image of a file whose header is known; else None, and what learn needs."""
        raise NotImplementedError

    def learn(self, now: Recording, before: Source | None, image: Image, seen: tuple[bool, bytes] | None) -> bool:
        """Keep what Pillow returned, if it depends on the header alone. Returns whether it was
        kept."""
        raise NotImplementedError

    def _is_usual(self, now: Recording) -> bool:
        own = now.opens.get(self)
        if own is None:
            own = now.opens[self] = self._places.has_same_code() and builtins.open is io.open and headers.are_markers_unchanged(now)
        return own and self._places.is_unchanged() and self._order(len(self._first)) == self._first

    def _order(self, count: int) -> list[tuple[str, Any]]:
        """Return the first formats that Pillow tries, with their entries."""
        return [(name, self._pillow.OPEN.get(name)) for name in self._pillow.ID[:count]]

    def _is_pillows_own(self) -> bool:
        """Whether Pillow's own factory makes JPEG images."""
        return self._pillow.OPEN["JPEG"][0] is self._plugin.jpeg_factory

    def _is_plain(self, width: int, height: int) -> bool:
        """Whether Pillow opens a picture of this size without a warning."""
        most = self._pillow.MAX_IMAGE_PIXELS
        return width > 0 < height and (most is None or width * height <= most)


class _Loader(_Opening):
    """Replaces pil_loader."""

    def __init__(self, module: ModuleType) -> None:
        super().__init__((module, "Image"), (sys.modules["PIL.Image"], "open"))
        self._module = module

    def reopen(self, now: Recording, file: str | os.PathLike[str] | BinaryIO) -> tuple[Any, Any]:
        if "JPEG" in pictures.untrusted or "open" in vars(self._module) or type(file) is not str and not isinstance(file, pathlib.PurePath):
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
        if known is None or known[0].loaded is None or not jpeg.find_end(data, known[2]):
            return None, None
        size = headers.decode_sides(known[1])
        if not self._is_plain(*size):
            return None, None
        now.newest = source = Source(data, "RGB", size)
        files.keep(source)
        now.tally.opened += 1
        return known[0].loaded._new(Recipe(source, (), "RGB", size)), None

    def learn(self, now: Recording, before: Source | None, image: Image, seen: tuple[bool, bytes] | None) -> bool:
        recipe, source = getattr(image, "_im", None), now.newest
        if source is before or type(recipe) is not Recipe or recipe.source is not source or recipe.ops or recipe.mode != "RGB":
            return False
        known = headers.find(bytes(source.data[: headers.LONGEST]))
        if known is None or not self._is_pillows_own() or not jpeg.find_end(source.data, known[2]):
            return False
        begun = self._pillow.Image()
        begun.info = dict(known[0].info)
        if not same_image(image, begun._new(recipe)):
            return False
        known[0].loaded = begun
        return True


class _Opener(_Opening):
    """Replaces Image.open."""

    def reopen(self, now: Recording, file: str | os.PathLike[str] | BinaryIO) -> tuple[Any, Any]:
        path = type(file) is str or isinstance(file, pathlib.PurePath)
        if not path and type(file) not in headers.FILES:
            return None, None
        filename = os.fspath(file) if path else ""
        try:
            opened = io.open(filename, "rb") if path else file  # noqa: UP020 # builtins.open may have been replaced
            opened.seek(0)
            head = headers.peek(opened)
            known = headers.find(head)
            kinds = None if known is None else known[0].opened.get(path)
            if kinds is not None and self._is_plain(*headers.decode_sides(known[1])) and self._file.MAXBLOCK == kinds["decodermaxblock"]:
                opened.read(known[2])
                return self._make_image(known, kinds, opened, filename, path), None
        except (OSError, ValueError):
            return None, None
        if path:
            opened.close()
        return None, (path, head)

    def _make_image(
        self,
        known: tuple[headers._Header, bytes, int],
        kinds: dict[str, Any],
        file: BinaryIO,
        filename: str,
        path: bool,
    ) -> Any:
        image = self._kind.__new__(self._kind)
        own = vars(image)
        own.update(kinds, info={}, fp=file, filename=filename, _exclusive_fp=path)
        known[0].apply_to(image, known[1])
        return image

    def learn(self, now: Recording, before: Source | None, image: Image, seen: tuple[bool, bytes] | None) -> bool:
        known = None if seen is None else headers.find(seen[1])
        if known is None or type(image) is not self._kind or not self._is_pillows_own() or "mp" in image.info:
            return False
        path, read, own = seen[0], known[0], vars(image)
        given = {"info", "fp", "filename", "_exclusive_fp", "tile", "_size", *(name for name, _ in read.copied), *read.plain}
        kinds = {name: value for name, value in own.items() if name not in given}
        result = self._make_image(known, kinds, image.fp, image.filename, path)
        if not all(map(headers.is_immutable, kinds.values())) or "decodermaxblock" not in kinds or not _are_equal(own, vars(result)):
            return False
        read.opened[path] = kinds
        return True


def _are_equal(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two images' attributes are equal and of the same types."""
    return one == other and all(type(one[name]) is type(other[name]) for name in one)
