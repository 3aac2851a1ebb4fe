"""What torchvision's RandomResizedCrop draws, in a third of the time.

Its own function makes a tensor for each number, and takes the logarithm of the same ratio for each picture. Here the
same generator is asked for the same numbers in the same order, in memory that a fetch has for it. That stands for the
function whose text is known to do this and nothing else, in workers, while pictures wait.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from typing import Any

import torch

from ._known import digest
from ._pictures import Recording, put, recording, undoing

_KNOWN = {"bf903df83aa6e11f661aeb3b52826d58"}  # of torchvision 0.19 to 0.29
_done: set[str] = set()


def install(worker: bool) -> None:
    """Put it in place in a worker, once torchvision has been imported; in a trainer, see to what its workers need."""
    kind = getattr(sys.modules.get("torchvision.transforms.transforms"), "RandomResizedCrop", None)
    if kind is None or _done or digest(kind.get_params) not in _KNOWN or not worker:
        return
    _done.add("torchvision")
    undoing(_done.clear)
    if isinstance(vars(kind)["get_params"], staticmethod):
        put(kind, "get_params", staticmethod(in_place_of(kind.get_params)))


@functools.lru_cache(64)
def _logarithms(ratio: tuple[float, float]) -> list[float]:
    return torch.log(torch.tensor(ratio)).tolist()


class Draws:
    """What get_params does once it knows the picture's sides."""

    def __init__(self) -> None:
        self._libraries = torch.empty, torch.exp, torch.randint

    def usual(self, ratio: Any) -> bool:
        """Whether it can be done here."""
        plain = type(ratio) in (tuple, list) and len(ratio) == 2 and type(ratio[0]) is type(ratio[1]) is float
        return plain and _usual() and (torch.empty, torch.exp, torch.randint) == self._libraries

    def draw(self, now: Recording, height: int, width: int, scale: Any, ratio: Any) -> tuple[int, int, int, int]:
        area = height * width
        least, most = _logarithms(tuple(ratio))
        if now.drawn is None:
            now.drawn = _memory()
        number, whole = now.drawn
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


def in_place_of(original: Callable[..., Any]) -> Callable[..., Any]:
    """RandomResizedCrop.get_params."""
    dimensions, draws = vars(sys.modules[original.__module__])["F"], Draws()

    @functools.wraps(original)
    def get_params(img: Any, scale: Any, ratio: Any) -> Any:
        now = recording()
        if now is None or not draws.usual(ratio):
            return original(img, scale, ratio)
        _, height, width = dimensions.get_dimensions(img)
        return draws.draw(now, height, width, scale, ratio)

    get_params.draws = draws  # type: ignore[attr-defined]
    return get_params


def _memory() -> tuple[torch.Tensor, torch.Tensor]:
    with torch.inference_mode(False):
        return torch.empty(1), torch.empty(1, dtype=torch.int64)


def _usual() -> bool:
    """Whether new tensors are plain ones, of 32 bits, and nobody listens to what is called."""
    return (
        torch.get_default_dtype() is torch.float32
        and not torch._C._len_torch_function_stack()
        and not torch._C._len_torch_dispatch_stack()
    )
