"""What the header of a JPEG or PNG tells OpenCV, where the file is plain enough that its pixels may wait."""

from __future__ import annotations

import struct
from typing import NamedTuple

from . import _jpeg, _png


class Header(NamedTuple):
    """Of a file whose pixels OpenCV reads as Pillow does."""

    format: str
    mode: str  # "L" or "RGB"
    size: tuple[int, int]
    turn: int | None  # how it is turned as its EXIF says, by Pillow's number


_TURNS = {2: 0, 3: 3, 4: 1, 5: 5, 6: 4, 7: 6, 8: 2}  # Pillow's numbers by EXIF's
_ORIENTATION, _SHORT = 0x0112, 3
_WIDTHS = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8}  # bytes by EXIF's types
_MODES = {0: "L", 2: "RGB"}  # by PNG's colours
_QUIET = {b"IHDR", b"IDAT", b"IEND", b"pHYs", b"tIME"}  # of PNG's chunks, what changes no pixel


def header_of(data: bytes | memoryview) -> Header | None:
    """None: OpenCV had better look at it."""
    return _of_jpeg(data) if data[:2] == b"\xff\xd8" else _of_png(data) if data[:8] == b"\x89PNG\r\n\x1a\n" else None


def _of_jpeg(data: bytes | memoryview) -> Header | None:
    told = _jpeg.told(data, True)
    if told is None:
        return None
    turn = None
    exif = [segment for segment in told.applications if segment[:1] == b"\xe1"]
    for segment in exif:
        if segment[1:7] == b"Exif\0\0" and len(exif) == 1:
            orientation = orientation_of(segment[7:])
            if orientation is None:
                return None
            turn = _TURNS.get(orientation)
        elif not segment[1:].startswith(b"http://ns.adobe.com/"):
            return None
    return Header("JPEG", "L" if told.components == 1 else "RGB", told.size, turn)


def orientation_of(tiff: bytes) -> int | None:
    """Of an EXIF segment, 1 where it has none; None where it is not as it should be."""
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(tiff[:4], "")
    if not order:
        return None
    found = []
    try:
        (at,) = struct.unpack_from(order + "I", tiff, 4)
        (count,) = struct.unpack_from(order + "H", tiff, at)
        for number in range(count):
            tag, kind, values, where = struct.unpack_from(order + "HHII", tiff, at + 2 + 12 * number)
            size = _WIDTHS[kind] * values
            if size > 4 and where + size > len(tiff):
                return None
            if tag == _ORIENTATION:
                if (kind, values) != (_SHORT, 1):
                    return None
                found.append(struct.unpack_from(order + "H", tiff, at + 10 + 12 * number)[0])
    except (struct.error, KeyError):
        return None
    return 1 if not found else found[0] if len(found) == 1 else None


def _of_png(data: bytes | memoryview) -> Header | None:
    if len(data) < 33:
        return None
    width, height, depth, colour, *_ = struct.unpack_from(">2I5B", data, 16)
    mode = _MODES.get(colour)
    if mode is None or depth != 8 or not _png.sound(data, mode, (width, height), b""):
        return None
    at = 8
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind = bytes(data[at + 4 : at + 8])
        if kind not in _QUIET:
            return None
        at += 12 + length
        if kind == b"IEND":
            break
    return Header("PNG", mode, (width, height), None)
