"""What torchvision.io decodes, as deferred tensors.

torchvision brings its own libjpeg. Before anything is deferred, its results for small files are
compared with the daemon's. Plain JPEGs are deferred; other files are decoded at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from ...daemon import files as _files
from ..recipes import jpeg, pictures
from ..recipes.pictures import Recipe, Source, recording
from ..recipes.plan import Cell, Plan
from ..recipes.replacements import replace
from ..torch.tensors import DeferredTensor, make_bytes_plan
from .vision import record_or_call

if TYPE_CHECKING:
    import os
    from types import FunctionType

    from torchvision.io import ImageReadMode

_HOME = "torchvision.io.image"
IO = "torchvision.io of JPEGs"  # the name of these trials
_SMALLEST = 64  # bytes of a file


class _File(Source):
    """A file that torchvision decodes if the daemon does not."""

    __slots__ = ()

    def decode(self) -> Any:
        from PIL import Image

        result = decode_by_torchvision(self.data)
        return Image.fromarray(result[0].numpy() if len(result) == 1 else result.permute(1, 2, 0).numpy()).im


def decode_by_torchvision(data: bytes | memoryview) -> torch.Tensor:
    """Decode a file by torchvision."""
    return torch.ops.image.decode_image(torch.frombuffer(bytearray(data), dtype=torch.uint8), 0, False)


def make_plan(recipe: Recipe) -> Plan:
    """Return the plan of its tensor, which is stored pixel by pixel."""
    plan = make_bytes_plan(recipe, rows=True)
    assert plan is not None
    return plan


def _defer_tensor(data: object, mode: int, turned: bool) -> DeferredTensor | None:
    """Return the deferred tensor of a file's bytes, or None if torchvision must decode it now."""
    found = recording()
    if found is None or not found.tensors or {"JPEG", IO} & pictures.untrusted:
        return None
    if type(data) is not torch.Tensor or data.dtype != torch.uint8 or data.device.type != "cpu" or data.ndim != 1:
        return None
    if not data.is_contiguous() or not _SMALLEST <= len(data) <= pictures.LARGEST_FILE:
        return None
    view = memoryview(data.numpy())
    opened = None if turned and b"Exif" in bytes(view) else jpeg.read_header(view)
    if opened is None or min(opened[1]) < 2 or mode != 0 and (opened[0] != "RGB" or mode != 3):
        return None
    files = found.files = found.files or _files.take()
    found.newest = source = _File(files.copy(view), *opened)
    files.keep(source)
    found.tally.opened += 1
    return DeferredTensor(Cell(make_plan(Recipe(source, (), *opened))))


def _find_mode_number(mode: ImageReadMode | str) -> int:
    """Return a mode's number; -1 if it has none."""
    kinds = sys.modules[_HOME].ImageReadMode
    if type(mode) is str:
        mode = getattr(kinds, mode.upper(), None)
    return mode.value if type(mode) is kinds else -1


def _make_decode_recorder(jpegs_alone: bool) -> Callable[..., Any]:
    """Return a recorder for decode_image or decode_jpeg."""

    def decode(
        original: Callable[..., torch.Tensor],
        input: torch.Tensor,
        mode: ImageReadMode | str = "UNCHANGED",
        *rest: Any,
        device: str | torch.device = "cpu",
        apply_exif_orientation: bool = False,
    ) -> Any:
        if jpegs_alone and rest:
            device, *rest = rest  # type: ignore[assignment]
        turned = rest[0] if rest else apply_exif_orientation
        tensor = _defer_tensor(input, _find_mode_number(mode), turned) if device == "cpu" else None
        if tensor is not None and hasattr(sys.modules[_HOME], "_warn_deprecated"):
            sys.modules[_HOME]._warn_deprecated()
        return tensor

    return decode


def _record_decode_image(
    original: FunctionType, input: torch.Tensor | str | os.PathLike[str], *rest: Any, **named: Any
) -> Any:
    """Record decode_image of a tensor, or of a path in versions that read it first."""
    if not isinstance(input, torch.Tensor) and "read_file" in original.__code__.co_names:
        input = sys.modules[_HOME].read_file(str(input))
        tensor = _any(original, input, *rest, **named)
        return original(input, *rest, **named) if tensor is None else tensor
    return _any(original, input, *rest, **named)


_any = _make_decode_recorder(False)


def is_imported() -> bool:
    """Whether the program has imported torchvision's decoders."""
    return hasattr(sys.modules.get(_HOME), "decode_image") and hasattr(torch.ops.image, "decode_image")


def install() -> None:
    """Patch torchvision in this process."""
    ours = {"decode_image": _record_decode_image, "decode_jpeg": _make_decode_recorder(True)}
    for name, record in ours.items():
        if hasattr(sys.modules[_HOME], name):
            replace(sys.modules[_HOME], name, record_or_call(record))
