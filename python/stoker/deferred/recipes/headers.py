"""Headers of JPEGs that equal one that Pillow has read before, apart from width and height.

Pillow reads a header marker by marker in Python, the slowest part of opening a file. The result
depends only on the bytes that it reads. So Pillow reads the first file of a kind; images of files
that begin with the same bytes get the same attributes.
"""

from __future__ import annotations

import functools
import io
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

if TYPE_CHECKING:
    from PIL.JpegImagePlugin import JpegImageFile


class Recording(Protocol):
    """The attributes of a recording that this module uses; pictures.py defines it."""

    markers: bool | None


_PREFIX = 64  # bytes; the key of the first lookup
LONGEST = 4096  # bytes of the longest header that is kept
_MOST = 256  # headers of one prefix, and prefixes
_TRIED = 64  # headers to keep before one must have been found again
_PLAIN = {int, float, bool, str, bytes, type(None)}
_FRAMES = {0xC0, 0xC1, 0xC2}
_OTHERS = {*range(0xC0, 0xD0), 0xDE} - {0xC4, 0xC8, 0xCC} - _FRAMES  # other frames of which Pillow reads width and height

# by prefix; then by length and offset of the sides; then by the other bytes
_kept: dict[bytes, dict[tuple[int, int], dict[bytes, _Header]]] = {}
_new_tuple = tuple.__new__


class _Header:
    """The attributes that Pillow's `_open` set on an image."""

    __slots__ = ("plain", "copied", "info", "tile", "loaded", "opened")

    def __init__(
        self,
        plain: list[tuple[str, Any]],
        copied: list[tuple[str, Any]],
        info: dict[str, Any],
        tile: tuple[Any, ...],
    ) -> None:
        self.plain = dict(plain)  # attributes with immutable values
        self.copied = copied  # other attributes, each with a function that copies its value
        self.info = info
        self.tile = type(tile), *tile
        self.loaded: Any = None  # kept by opening.py: the image that pil_loader returned
        self.opened: dict[bool, dict[str, Any]] = {}  # the image's other attributes, by whether it was opened by path

    def apply_to(self, image: JpegImageFile, sides: bytes) -> None:
        own = vars(image)
        own.update(self.plain)
        for name, copy_value in self.copied:
            own[name] = copy_value()
        image.info.update(self.info)
        image._size = width, height = decode_sides(sides)
        kind, codec, _, offset, rest = self.tile
        image.tile = [_new_tuple(kind, (codec, (0, 0, width, height), offset, rest))]


def wrap_open(original: Callable[[Any], None], recording: Callable[[], Recording | None]) -> Callable[[Any], None]:
    """Wrap JpegImageFile._open while pictures are deferred."""
    module = sys.modules["PIL.JpegImagePlugin"]
    kind = module.JpegImageFile
    _seen[:] = 0, 0
    _kept.clear()
    _markers.clear()
    _markers.update(module.MARKER)

    @functools.wraps(original)
    def _open(self: Any) -> None:
        file, now = self.fp, recording()
        if type(self) is not kind or type(file) not in FILES or now is None or not are_markers_unchanged(now):
            return original(self)
        head = peek(file)
        known = find(head)
        if known is not None:
            found, sides, size = known
            file.read(size)
            return found.apply_to(self, sides)
        if _seen[0] > _TRIED + _seen[1]:  # hardly any header repeats
            return original(self)
        before, begin, alone = dict(vars(self)), file.tell(), not self.info
        original(self)
        size = file.tell() - begin
        if size <= min(LONGEST, len(head)) and alone:
            _seen[0] += 1
            _keep(self, before, head[:size])

    return _open


FILES = io.BufferedReader, io.BytesIO


def peek(file: BinaryIO) -> bytes:
    """Return the next bytes of a file without consuming them, up to LONGEST."""
    if type(file) is io.BufferedReader:
        return file.peek(LONGEST)
    at = file.tell()
    head = file.read(LONGEST)
    file.seek(at)
    return head


_seen = [0, 0]  # headers kept, headers found again
_markers: dict[int, Any] = {}  # a copy of Pillow's table of JPEG markers


def are_markers_unchanged(now: Recording) -> bool:
    """Whether Pillow's table of JPEG markers is unchanged."""
    if now.markers is None:
        now.markers = sys.modules["PIL.JpegImagePlugin"].MARKER == _markers
    return now.markers


def find(head: bytes) -> tuple[_Header, bytes, int] | None:
    """Find a kept header that equals this file's, apart from the sides. Returns it, the sides, and
    its size."""
    for (size, at), rests in list(_kept.get(head[:_PREFIX], _NONE).items()):  # a copy: other threads may add
        found = rests.get(head[:at] + head[at + 4 : size])
        if found is not None and len(head) >= size:
            _seen[1] += 1
            return found, head[at : at + 4], size
    return None


_NONE: dict[tuple[int, int], dict[bytes, _Header]] = {}


def _keep(image: JpegImageFile, before: dict[str, Any], head: bytes) -> None:
    """Keep what Pillow read, if it depends only on these bytes in a known way."""
    at = _find_sides(head)
    tile = image.tile[0] if type(image.tile) is list and len(image.tile) == 1 else ()
    if not at or len(tile) != 4 or tile[1] != (0, 0, *image._size) or image._size != decode_sides(head[at : at + 4]):
        return
    plain, copied = [], []
    for name, value in vars(image).items():
        if name in ("info", "tile", "_size") or name in before and before[name] is value:
            continue
        if is_immutable(value):
            plain.append((name, value))
        elif (copy_value := _find_copier(value)) is not None:
            copied.append((name, copy_value))
        else:
            return
    if not all(map(is_immutable, image.info.values())) or image.info is not before["info"]:
        return
    if len(_kept) >= _MOST:
        _kept.clear()
    rests = _kept.setdefault(head[:_PREFIX], {})
    if sum(map(len, list(rests.values()))) >= _MOST:
        rests.clear()
    found = rests.setdefault((len(head), at), {})
    found[head[:at] + head[at + 4 :]] = _Header(plain, copied, dict(image.info), tile)


def decode_sides(four: bytes) -> tuple[int, int]:
    return four[2] << 8 | four[3], four[0] << 8 | four[1]


def _find_sides(head: bytes) -> int:
    """Return the offset of the sides in the only frame; 0 if the header is unusual."""
    at, found = 2, 0
    while at + 4 <= len(head) and head[at] == 0xFF:
        if head[at + 1] in _FRAMES:
            found = at + 5 if not found else -1
        if head[at + 1] in _OTHERS:
            found = -1
        at += 2 + (head[at + 2] << 8 | head[at + 3])
    return found if at == len(head) and found > _PREFIX else 0


def is_immutable(value: object) -> bool:
    """Whether a value and all that it contains is immutable."""
    return type(value) in _PLAIN or isinstance(value, tuple) and all(map(is_immutable, value))


def _find_copier(value: object) -> Callable[[], Any] | None:
    """Return a function that copies a list, dict, or dict of lists of immutable values; else None."""
    if type(value) is list and all(map(is_immutable, value)):
        return list(value).copy
    if type(value) is dict and all(map(is_immutable, value)):
        if all(map(is_immutable, value.values())):
            return dict(value).copy
        if all(type(each) is list and all(map(is_immutable, each)) for each in value.values()):
            lists = {name: list(each) for name, each in value.items()}
            return lambda: {name: each[:] for name, each in lists.items()}
    return None
