"""The random numbers that torchvision's transforms draw, in a third of the time.

RandomResizedCrop makes a tensor for each number and takes the same logarithms for each picture.
This module draws the same numbers in the same order from the same generator, into tensors that a
fetch reuses. RandAugment and its like build a table of magnitudes for each picture; here pictures
of the same size share one. Only functions with a known digest are replaced, in workers and while
pictures are deferred.
"""

from __future__ import annotations

import functools
import math
import operator
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from ..recipes.digests import digest
from ..recipes.pictures import Recording, on_uninstall, patch, recording
from ..recipes.replacements import make_replacement

if TYPE_CHECKING:
    from types import FunctionType

    from PIL.Image import Image

_KNOWN = {"bf903df83aa6e11f661aeb3b52826d58"}  # of torchvision 0.19 to 0.29
#: Classes with a table of magnitudes, and digests of the method that builds it, of the same
#: versions.
_CHOOSING = "RandAugment", "TrivialAugmentWide", "AutoAugment"
_SPACES = {"33655023cf97c6f41e02bf212551edbb", "c5aa22b5aae0acc4db9d899b2196feb7", "c09d3124bc589a54fb84cd13025e13aa"}
_done: set[str] = set()


def install(worker: bool) -> None:
    """Patch torchvision in a worker, once it has been imported; in a trainer, only check."""
    for name in _CHOOSING if worker else ():
        _share_space(getattr(sys.modules.get("torchvision.transforms.autoaugment"), name, None))
    kind = getattr(sys.modules.get("torchvision.transforms.transforms"), "RandomResizedCrop", None)
    if kind is None or "torchvision" in _done or digest(kind.get_params) not in _KNOWN or not worker:
        return
    _done.add("torchvision")
    on_uninstall(_done.clear)
    if isinstance(vars(kind)["get_params"], staticmethod):
        patch(kind, "get_params", staticmethod(wrap_get_params(kind.get_params)))


def _share_space(kind: type | None) -> None:
    """Make a class share its table of magnitudes between equal arguments."""
    if kind is None or kind.__name__ in _done or digest(getattr(kind, "_augmentation_space", None)) not in _SPACES:
        return
    _done.add(kind.__name__)
    on_uninstall(_done.clear)
    patch(kind, "_augmentation_space", wrap_space(kind._augmentation_space))


def wrap_space(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap _augmentation_space. Callers share its tensors, which no code changes; each gets its own dictionary."""
    draws = Draws()
    result = functools.lru_cache(16)(lambda *arguments: original(None, *arguments))

    @functools.wraps(original)
    def _augmentation_space(self: Any, *arguments: Any, **named: Any) -> Any:
        if recording() is None or named or not draws.is_unchanged() or not all(map(_is_numeric, arguments)):
            return original(self, *arguments, **named)
        return result(*arguments).copy()

    return _augmentation_space


def _is_numeric(argument: object) -> bool:
    return type(argument) is int or type(argument) is tuple and {*map(type, argument)} == {int}


@functools.lru_cache(64)
def _take_logarithms(ratio: tuple[float, float]) -> list[float]:
    return torch.log(torch.tensor(ratio)).tolist()


class Draws:
    """Draws what RandomResizedCrop.get_params draws."""

    def __init__(self) -> None:
        self._torch_functions = _torch_functions(torch)

    def can_draw(self, ratio: Sequence[float]) -> bool:
        """Whether these arguments can be handled here."""
        plain = type(ratio) in (tuple, list) and len(ratio) == 2 and type(ratio[0]) is type(ratio[1]) is float
        return plain and self.is_unchanged()

    def is_unchanged(self) -> bool:
        """Whether torch's random functions are its own, and tensors are plain."""
        return _is_torch_plain() and _torch_functions(torch) == self._torch_functions

    def draw(
        self, now: Recording, height: int, width: int, scale: Sequence[float], ratio: Sequence[float]
    ) -> tuple[int, int, int, int]:
        area = height * width
        least, most = _take_logarithms(tuple(ratio))
        number, whole = memory(now)
        for _ in range(10):
            wanted = area * number.uniform_(scale[0], scale[1]).item()
            aspect = number.uniform_(least, most).exp_().item()
            w, h = round(math.sqrt(wanted * aspect)), round(math.sqrt(wanted / aspect))
            if 0 < w <= width and 0 < h <= height:
                return whole.random_(0, height - h + 1).item(), whole.random_(0, width - w + 1).item(), h, w
        w, h = width, height
        if float(width) / float(height) < min(ratio):
            h = round(w / min(ratio))
        elif float(width) / float(height) > max(ratio):
            w = round(h * max(ratio))
        return (height - h) // 2, (width - w) // 2, h, w


def wrap_get_params(original: FunctionType) -> Any:
    """Wrap RandomResizedCrop.get_params."""
    dimensions, draws = vars(sys.modules[original.__module__])["F"], Draws()

    def get_params(
        original: Callable[..., Any], img: Image | torch.Tensor, scale: Sequence[float], ratio: Sequence[float]
    ) -> Any:
        now = recording()
        if now is None or not draws.can_draw(ratio):
            return original(img, scale, ratio)
        _, height, width = dimensions.get_dimensions(img)
        return draws.draw(now, height, width, scale, ratio)

    ours = make_replacement(original, get_params)
    ours.draws = draws
    return ours


def happens(now: Recording, p: float) -> bool:
    """Return torch.rand(1) < p."""
    return memory(now)[0].uniform_().item() < _round_to_single(p)


def exceeds(now: Recording, p: float) -> bool:
    """Return p < torch.rand(1)."""
    return _round_to_single(p) < memory(now)[0].uniform_().item()


@functools.lru_cache(64)
def _round_to_single(p: float) -> float:
    """Round to 32 bits, as torch does for a comparison."""
    return torch.tensor(p, dtype=torch.float32).item()


def memory(now: Recording) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the fetch's tensors for a float and an integer."""
    if now.draw_buffers is None:
        with torch.inference_mode(False):
            now.draw_buffers = torch.empty(1), torch.empty(1, dtype=torch.int64)
    return now.draw_buffers


_torch_functions = operator.attrgetter("empty", "exp", "randint", "rand", "randperm")


def _is_torch_plain() -> bool:
    """Whether new tensors are plain tensors of 32 bits, and no torch function mode is active."""
    return (
        torch.get_default_dtype() is torch.float32
        and not torch._C._len_torch_function_stack()
        and not torch._C._len_torch_dispatch_stack()
    )
