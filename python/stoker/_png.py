"""Whether a PNG file is plain enough that its pixels may wait.

Nothing is unpacked for it, so Pillow may still find fault with the pixels where all checksums are right. Then the
batch is fetched again, with real pictures; so PNGs wait only where that can be done.
"""

from __future__ import annotations

import struct
import zlib

_KINDS = {"L": 0, "I;16": 0, "RGB": 2, "P": 3, "LA": 4, "RGBA": 6}
_NOT_STILL = {b"acTL", b"fcTL", b"fdAT"}


def sound(data: bytes | memoryview, mode: str, size: tuple[int, int], palette: bytes) -> int:
    """Where Pillow stops reading; 0 where it had better look at it.

    It is a still picture of eight bits a band, or of 16 in grey, as its header told Pillow. It is
    not interlaced, with nothing but the end behind its pixels.
    """
    header, view, at, pixels = (
        struct.pack(">2I5B", *size, 16 if mode == "I;16" else 8, _KINDS.get(mode, 255), 0, 0, 0),
        memoryview(data),
        8,
        False,
    )
    while at + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, behind = bytes(view[at + 4 : at + 8]), at + 12 + length
        if behind > len(data) or struct.unpack_from(">I", data, behind - 4)[0] != zlib.crc32(view[at + 4 : behind - 4]):
            return 0
        if kind == b"IEND":
            return at + 8 if pixels and not length else 0
        told = {b"IHDR": header, b"PLTE": palette if mode == "P" else None}.get(kind)
        if (
            (at == 8) != (kind == b"IHDR")
            or kind in _NOT_STILL
            or pixels
            and kind != b"IDAT"
            or told is not None
            and told != view[at + 8 : behind - 4]
        ):
            return 0
        pixels, at = pixels or kind == b"IDAT", behind
    return 0
