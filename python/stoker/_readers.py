"""What torchvision.io decodes, as tensors that are made later.

torchvision brings a libjpeg and a libpng of its own: what they make of small files is compared with what the daemon makes
before anything waits. Of files that are plain enough the tensor waits; the others are decoded there and then.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from typing import Any

import torch

from . import _files, _jpeg, _pictures, _png
from ._pictures import Recipe, Recording, Source, recording, replace
from ._plan import Cell, Plan
from ._tensors import Later, bytes_of
from ._vision import standing

_HOME = "torchvision.io.image"
IO = {"JPEG": "torchvision.io of JPEGs", "PNG": "torchvision.io of PNGs"}  # as they are called where they are left
_SMALLEST = 64  # bytes of a file
_COLOURS = {0: "L", 2: "RGB"}  # of PNGs that wait


class _File(Source):
    """One that torchvision decodes, where the daemon does not."""

    __slots__ = ()

    def decode(self) -> Any:
        from PIL import Image

        try:
            made = decoded(self.data)
        except Exception:
            if Recording.now is not None:
                Recording.now.failed = True
            raise
        return Image.fromarray(made[0].numpy() if len(made) == 1 else made.permute(1, 2, 0).numpy()).im


def decoded(data: bytes | memoryview) -> torch.Tensor:
    """What torchvision makes of a file."""
    return torch.ops.image.decode_image(torch.frombuffer(bytearray(data), dtype=torch.uint8), 0, False)


def plan_of(recipe: Recipe) -> Plan:
    """The tensor of it, which lies pixel by pixel."""
    plan = bytes_of(recipe, rows=True)
    assert plan is not None
    return plan


def _opened(data: memoryview, format: str, wanted: int, trusting: bool) -> tuple[str, tuple[int, int]] | None:
    """Mode and size of a file that may wait; None: it may not."""
    if format in _pictures.left or IO[format] in _pictures.left or not _SMALLEST <= len(data) <= _pictures.LARGEST_FILE:
        return None
    if format == "JPEG":
        found = _jpeg.header(data, trusting)
    else:
        width, height, bits, colour = struct.unpack_from(">2I2B", data, 16)
        mode = _COLOURS.get(colour, "")
        plain = trusting and bits == 8 and mode and b"tRNS" not in bytes(data)
        found = (mode, (width, height)) if plain and _png.sound(data, mode, (width, height), b"") else None
    return found if found and min(found[1]) > 1 and (wanted == 0 or found[0] == "RGB" and wanted == 3) else None


def _later(data: Any, mode: Any, turned: Any, formats: tuple[str, ...]) -> Later | None:
    """The tensor of a file's bytes, to be made later."""
    found = recording()
    if found is None or not found.tally.worth() or type(data) is not torch.Tensor or data.dtype != torch.uint8:
        return None
    if data.device.type != "cpu" or data.ndim != 1 or not data.is_contiguous():
        return None
    view = memoryview(data.numpy())
    format = {b"\xff\xd8": "JPEG", b"\x89P": "PNG"}.get(bytes(view[:2]), "")
    if format not in formats or turned and b"Exif" in bytes(view):
        return None
    opened = _opened(view, format, mode, found.trusts)
    if opened is None:
        return None
    files = found.files = found.files or _files.take()
    found.newest = source = _File(files.copy(view), format, *opened)
    files.keep(source)
    found.tally.opened += 1
    return Later(Cell(plan_of(Recipe(source, (), *opened))))


def _mode(mode: Any) -> int:
    """Its number; -1: none."""
    kinds = sys.modules[_HOME].ImageReadMode
    if type(mode) is str:
        mode = getattr(kinds, mode.upper(), None)
    return mode.value if type(mode) is kinds else -1


def _decoding(*formats: str) -> Callable[..., Any]:
    """decode_image, decode_jpeg or decode_png."""

    def decode(
        original: Any, input: Any, mode: Any = "UNCHANGED", *rest: Any, device: Any = "cpu", apply_exif_orientation: Any = False
    ) -> Any:
        if len(formats) == 1 and formats[0] == "JPEG" and rest:
            device, *rest = rest  # type: ignore[assignment]
        turned = rest[0] if rest else apply_exif_orientation
        later = _later(input, _mode(mode), turned, formats) if device == "cpu" else None
        if later is not None and hasattr(sys.modules[_HOME], "_warn_deprecated"):
            sys.modules[_HOME]._warn_deprecated()
        return later

    return decode


def _decode_image(original: Any, input: Any, *rest: Any, **named: Any) -> Any:
    """Of a tensor, or of a path in versions that read it first."""
    if not isinstance(input, torch.Tensor) and "read_file" in original.__code__.co_names:
        input = sys.modules[_HOME].read_file(str(input))
        later = _any(original, input, *rest, **named)
        return original(input, *rest, **named) if later is None else later
    return _any(original, input, *rest, **named)


_any = _decoding("JPEG", "PNG")


def imported() -> bool:
    """Whether the program has torchvision's decoders."""
    return hasattr(sys.modules.get(_HOME), "decode_image") and hasattr(torch.ops.image, "decode_image")


def install() -> None:
    """Put it in place in this process."""
    ours = {"decode_image": _decode_image, "decode_jpeg": _decoding("JPEG"), "decode_png": _decoding("PNG")}
    for name, record in ours.items():
        if hasattr(sys.modules[_HOME], name):
            replace(sys.modules[_HOME], name, standing(record))
