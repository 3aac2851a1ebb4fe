"""Tells, before a JPEG is decoded, whether Pillow will decode it without an error or a warning.

libjpeg raises for bad headers and tables, Pillow for a file that ends too early. Errors within the
coefficients become grey pixels, silently. So a file with correct headers and tables, whose scans
are followed by an end marker, raises nothing. Pillow decodes unusual files at once.
"""

from __future__ import annotations

import functools
import re

_find_marker = re.compile(rb"\xff[^\x00\xd0-\xd7]").search  # the first marker after a scan
_SAMPLINGS = {b"\x11", b"\x21", b"\x12", b"\x22", b"\x41"}  # of luma, if chroma has 0x11: those that libjpeg upsamples
_TABLES, _QUANTIZATION, _SCAN, _END, _RESTART, _COMMENT = 0xC4, 0xDB, 0xDA, 0xD9, 0xDD, 0xFE
_FRAMES = {0xC0: False, 0xC1: False, 0xC2: True}  # frame markers, and whether each is progressive


def find_end(data: bytes | memoryview, scan: int = 0) -> int:
    """Return where the file's image ends, or 0 if Pillow has to decode it.

    scan is where the data of the first scan begin, as Pillow found it; 0 if not known.
    """
    if _has_sound_header(data, scan):
        found = _find_marker(data, scan)
        if found is not None and data[found.start() + 1] == _END:
            return found.end()
    reader = _Reader(data, scan)
    try:
        end = reader.find_end()
    except IndexError:  # the file is cut off
        return 0
    if end and not reader.progressive and reader.scan_at == scan:
        _keep_header(data, scan, reader.sides_at)
    return end


#: Sound headers without the sides: by length, the offset of the sides and the other bytes.
_sound: dict[int, tuple[int, set[bytes]]] = {}
_LONGEST = 4096  # bytes of the longest header that is kept
_MOST = 256  # headers of one length, and lengths


def _has_sound_header(data: bytes | memoryview, scan: int) -> bool:
    """Whether an earlier sound file had the same header, apart from its sides."""
    at, headers = _sound.get(scan, _NONE)
    if not headers:
        return False
    header = bytes(data[:scan])
    sides = header[at : at + 4]
    return sides[:2] != b"\0\0" != sides[2:] and header[:at] + header[at + 4 :] in headers


_NONE: tuple[int, set[bytes]] = (0, set())


def _keep_header(data: bytes | memoryview, scan: int, sides: int) -> None:
    if scan > _LONGEST:
        return
    at, headers = _sound.get(scan, _NONE)
    if at != sides or len(headers) >= _MOST:
        headers = set()
        if len(_sound) >= _MOST:
            _sound.clear()
        _sound[scan] = sides, headers
    header = bytes(data[:scan])
    headers.add(header[:sides] + header[sides + 4 :])


def read_header(data: bytes | memoryview) -> tuple[str, tuple[int, int]] | None:
    """Return mode and size of a sound file; None if it is not sound."""
    reader = _Reader(data)
    try:
        if not reader.find_end():
            return None
    except IndexError:  # the file is cut off
        return None
    return "L" if len(reader.components) == 3 else "RGB", reader.size


class _Reader:
    def __init__(self, data: bytes | memoryview, scan: int = 0) -> None:
        self.data, self.scan_at = data, scan
        self.tables: set[int] = set()  # class and number of each Huffman table
        self.quantization: set[int] = set()
        self.components = b""  # name, sampling and quantization table of each component, a byte each
        self.size = 0, 0
        self.progressive = False
        self.scans = 0
        self.sides_at = 0

    def find_end(self) -> int:
        data, at = self.data, 2
        if data[:2] != b"\xff\xd8":
            return 0
        while data[at] == 0xFF:
            marker = data[at + 1]
            if marker == _END:
                return at + 2 if self.scans else 0
            behind = at + 2 + (data[at + 2] << 8 | data[at + 3])
            segment = bytes(data[at + 4 : behind])
            if behind < at + 4 or behind > len(data) or not self.check_segment(marker, segment):
                return 0
            if marker in _FRAMES:
                self.sides_at = at + 5
            at = behind
            if marker in _FRAMES and self.is_known_sound(at):
                at, marker, self.scans = self.scan_at, _SCAN, 1
            if marker == _SCAN:
                self.scan_at = self.scan_at if self.scans > 1 else at
                found = _find_marker(data, at)
                if found is None:
                    return 0
                at = found.start()
        return 0

    def is_known_sound(self, at: int) -> bool:
        """Whether the bytes between frame and scan were found sound in an earlier file."""
        size = self.scan_at - at
        plain = not self.progressive and 0 < size < 2048 and self.scan_at <= len(self.data)
        return plain and _is_known_sound(bytes(self.data[at : self.scan_at]), self.components)

    def check_segment(self, marker: int, segment: bytes) -> bool:
        if 0xE0 <= marker <= 0xEF or marker == _COMMENT:
            return True
        if marker == _TABLES:
            found = _read_huffman(segment)
            self.tables |= found
            return bool(found)
        if marker == _QUANTIZATION:
            found = _read_quantizers(segment)
            self.quantization |= found
            return bool(found)
        if marker in _FRAMES:
            self.progressive = _FRAMES[marker]
            return self.check_frame(segment)
        if marker == _SCAN:
            self.scans += 1
            return self.check_scan(segment)
        return marker == _RESTART and len(segment) == 2

    def check_frame(self, segment: bytes) -> bool:
        """Check a frame: 8 bits, and one component, or three in a usual arrangement."""
        count = segment[5]
        if (
            self.components
            or segment[0] != 8
            or len(segment) != 6 + 3 * count
            or not any(segment[1:3])
            or not any(segment[3:5])
        ):
            return False
        self.components = segment[6:]
        self.size = int.from_bytes(segment[3:5], "big"), int.from_bytes(segment[1:3], "big")
        names, samplings, quantization = self.components[::3], self.components[1::3], self.components[2::3]
        if not all(q in self.quantization for q in quantization):
            return False
        if count == 1:
            return samplings in _SAMPLINGS
        return count == 3 and len(set(names)) == 3 and samplings[:1] in _SAMPLINGS and samplings[1:] == b"\x11\x11"

    def check_scan(self, segment: bytes) -> bool:
        count = segment[0]
        if not self.components or len(segment) != 4 + 2 * count:
            return False
        names, tables = segment[1:-3:2], segment[2:-3:2]
        first, last, approximation = segment[-3:]
        if not names or not set(names) <= set(self.components[::3]) or len(set(names)) != count:
            return False
        if not self.progressive:
            whole = names == self.components[::3] and segment[-3:] == b"\x00\x3f\x00" and self.scans == 1
            return whole and all(t >> 4 in self.tables and 0x10 | t & 15 in self.tables for t in tables)
        high, low = approximation >> 4, approximation & 15
        if low > 13 or high and high != low + 1:
            return False
        if first == 0:
            return last == 0 and (high > 0 or all(t >> 4 in self.tables for t in tables))
        return first <= last <= 63 and count == 1 and 0x10 | tables[0] & 15 in self.tables


@functools.lru_cache(64)  # most files have the standard's tables
def _is_known_sound(segments: bytes, components: bytes) -> bool:
    """Whether these segments, which end with the only scan's header, are sound after such a frame."""
    reader = _Reader(b"\xff\xd8" + segments + b"\xff\xd9")
    reader.components = components
    try:
        return reader.find_end() > 0 and reader.scan_at == len(segments) + 2
    except IndexError:
        return False


@functools.lru_cache(64)
def _read_huffman(segment: bytes) -> frozenset[int]:
    """Return class and number of the tables in a segment; an empty set if libjpeg may reject them."""
    found, at = set(), 0
    while at < len(segment):
        name, counts = segment[at], segment[at + 1 : at + 17]
        values = segment[at + 17 : at + 17 + sum(counts)]
        if name & 0xEC or len(counts) != 16 or len(values) != sum(counts) or not 0 < len(values) <= 256:
            return frozenset()
        code = 0
        for length, count in enumerate(counts, 1):
            code = (code + count) << 1
            if code > 2 << length:
                return frozenset()
        if name < 0x10 and max(values) > 15:
            return frozenset()
        found.add(name)
        at += 17 + len(values)
    return frozenset(found)


@functools.lru_cache(64)
def _read_quantizers(segment: bytes) -> frozenset[int]:
    found, at = set(), 0
    while at < len(segment):
        size = 64 << (segment[at] >> 4)
        if segment[at] & 0xEC or at + 1 + size > len(segment):
            return frozenset()
        found.add(segment[at] & 3)
        at += 1 + size
    return frozenset(found)
