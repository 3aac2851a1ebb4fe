"""What torchvision.io decodes, as tensors that are made later.

torchvision brings a libjpeg of its own: what it makes of small files is compared with what the daemon makes before
anything waits. Of JPEGs that are plain enough the tensor waits; other files are decoded there and then.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from ...daemon import files as _files
from ..recipes import jpeg, pictures
from ..recipes.pictures import Recipe, Source, recording
from ..recipes.plan import Cell, Plan
from ..recipes.standins import replace
from ..torch.tensors import Later, bytes_of
from .vision import standing

_HOME = "torchvision.io.image"
IO = "torchvision.io of JPEGs"  # as they are called where they are left
_SMALLEST = 64  # bytes of a file


class _File(Source):
    """One that torchvision decodes, where the daemon does not."""

    __slots__ = ()

    def decode(self) -> Any:
        from PIL import Image

        made = decoded(self.data)
        return Image.fromarray(made[0].numpy() if len(made) == 1 else made.permute(1, 2, 0).numpy()).im


def decoded(data: bytes | memoryview) -> torch.Tensor:
    """What torchvision makes of a file."""
    return torch.ops.image.decode_image(torch.frombuffer(bytearray(data), dtype=torch.uint8), 0, False)


def plan_of(recipe: Recipe) -> Plan:
    """The tensor of it, which lies pixel by pixel."""
    plan = bytes_of(recipe, rows=True)
    assert plan is not None
    return plan


def _later(data: Any, mode: Any, turned: Any) -> Later | None:
    """The tensor of a file's bytes, to be made later."""
    found = recording()
    if found is None or not found.tensors or {"JPEG", IO} & pictures.left:
        return None
    if type(data) is not torch.Tensor or data.dtype != torch.uint8 or data.device.type != "cpu" or data.ndim != 1:
        return None
    if not data.is_contiguous() or not _SMALLEST <= len(data) <= pictures.LARGEST_FILE:
        return None
    view = memoryview(data.numpy())
    opened = None if turned and b"Exif" in bytes(view) else jpeg.header(view)
    if opened is None or min(opened[1]) < 2 or mode != 0 and (opened[0] != "RGB" or mode != 3):
        return None
    files = found.files = found.files or _files.take()
    found.newest = source = _File(files.copy(view), *opened)
    files.keep(source)
    found.tally.opened += 1
    return Later(Cell(plan_of(Recipe(source, (), *opened))))


def _mode(mode: Any) -> int:
    """Its number; -1: none."""
    kinds = sys.modules[_HOME].ImageReadMode
    if type(mode) is str:
        mode = getattr(kinds, mode.upper(), None)
    return mode.value if type(mode) is kinds else -1


def _decoding(jpegs_alone: bool) -> Callable[..., Any]:
    """decode_image or decode_jpeg."""

    def decode(
        original: Any, input: Any, mode: Any = "UNCHANGED", *rest: Any, device: Any = "cpu", apply_exif_orientation: Any = False
    ) -> Any:
        if jpegs_alone and rest:
            device, *rest = rest  # type: ignore[assignment]
        turned = rest[0] if rest else apply_exif_orientation
        later = _later(input, _mode(mode), turned) if device == "cpu" else None
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


_any = _decoding(False)


def imported() -> bool:
    """Whether the program has torchvision's decoders."""
    return hasattr(sys.modules.get(_HOME), "decode_image") and hasattr(torch.ops.image, "decode_image")


def install() -> None:
    """Put it in place in this process."""
    ours = {"decode_image": _decode_image, "decode_jpeg": _decoding(True)}
    for name, record in ours.items():
        if hasattr(sys.modules[_HOME], name):
            replace(sys.modules[_HOME], name, standing(record))
