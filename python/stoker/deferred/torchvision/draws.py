"""What torchvision's transforms draw, in a third of the time.

RandomResizedCrop makes a tensor for each number, and takes the logarithm of the same ratio for each picture. Here the
same generator is asked for the same numbers in the same order, in memory that a fetch has for it. RandAugment and its
like make the tables that they choose from for each picture: here pictures of the same sides share them. That stands for
functions whose text is known to do this and nothing else, in workers, while pictures wait.
"""

from __future__ import annotations

import functools
import math
import operator
import sys
from collections.abc import Callable
from typing import Any

import torch

from ..recipes.known import digest
from ..recipes.pictures import Recording, put, recording, undoing
from ..recipes.standins import stand_in

_KNOWN = {"bf903df83aa6e11f661aeb3b52826d58"}  # of torchvision 0.19 to 0.29
#: What is chosen from, and digests of how it is made, of the same.
_CHOOSING = "RandAugment", "TrivialAugmentWide", "AutoAugment"
_SPACES = {"33655023cf97c6f41e02bf212551edbb", "c5aa22b5aae0acc4db9d899b2196feb7", "c09d3124bc589a54fb84cd13025e13aa"}
_done: set[str] = set()


def install(worker: bool) -> None:
    """Put it in place in a worker, once torchvision has been imported; in a trainer, see to what its workers need."""
    for name in _CHOOSING if worker else ():
        _share_space(getattr(sys.modules.get("torchvision.transforms.autoaugment"), name, None))
    kind = getattr(sys.modules.get("torchvision.transforms.transforms"), "RandomResizedCrop", None)
    if kind is None or "torchvision" in _done or digest(kind.get_params) not in _KNOWN or not worker:
        return
    _done.add("torchvision")
    undoing(_done.clear)
    if isinstance(vars(kind)["get_params"], staticmethod):
        put(kind, "get_params", staticmethod(in_place_of(kind.get_params)))


def _share_space(kind: Any) -> None:
    """Have a class make what it chooses from once for the same arguments."""
    if kind is None or kind.__name__ in _done or digest(getattr(kind, "_augmentation_space", None)) not in _SPACES:
        return
    _done.add(kind.__name__)
    undoing(_done.clear)
    put(kind, "_augmentation_space", space_in_place_of(kind._augmentation_space))


def space_in_place_of(original: Callable[..., Any]) -> Callable[..., Any]:
    """_augmentation_space, of which nobody changes the tensors, in a dictionary of one's own."""
    drawn = Draws()
    made = functools.lru_cache(16)(lambda *arguments: original(None, *arguments))

    @functools.wraps(original)
    def _augmentation_space(self: Any, *arguments: Any, **named: Any) -> Any:
        if recording() is None or named or not drawn.possible() or not all(map(_numeric, arguments)):
            return original(self, *arguments, **named)
        return made(*arguments).copy()

    return _augmentation_space


def _numeric(argument: Any) -> bool:
    return type(argument) is int or type(argument) is tuple and {*map(type, argument)} == {int}


@functools.lru_cache(64)
def _logarithms(ratio: tuple[float, float]) -> list[float]:
    return torch.log(torch.tensor(ratio)).tolist()


class Draws:
    """What get_params does once it knows the picture's sides."""

    def __init__(self) -> None:
        self._libraries = _libraries(torch)

    def usual(self, ratio: Any) -> bool:
        """Whether it can be done here."""
        plain = type(ratio) in (tuple, list) and len(ratio) == 2 and type(ratio[0]) is type(ratio[1]) is float
        return plain and self.possible()

    def possible(self) -> bool:
        """Whether numbers are drawn as ever."""
        return _usual() and _libraries(torch) == self._libraries

    def draw(self, now: Recording, height: int, width: int, scale: Any, ratio: Any) -> tuple[int, int, int, int]:
        area = height * width
        least, most = _logarithms(tuple(ratio))
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


def in_place_of(original: Any) -> Any:
    """RandomResizedCrop.get_params."""
    dimensions, draws = vars(sys.modules[original.__module__])["F"], Draws()

    def get_params(original: Any, img: Any, scale: Any, ratio: Any) -> Any:
        now = recording()
        if now is None or not draws.usual(ratio):
            return original(img, scale, ratio)
        _, height, width = dimensions.get_dimensions(img)
        return draws.draw(now, height, width, scale, ratio)

    ours = stand_in(original, get_params)
    ours.draws = draws
    return ours


def happens(now: Recording, p: float) -> bool:
    """torch.rand(1) < p."""
    return memory(now)[0].uniform_().item() < _single(p)


def exceeds(now: Recording, p: float) -> bool:
    """p < torch.rand(1)."""
    return _single(p) < memory(now)[0].uniform_().item()


@functools.lru_cache(64)
def _single(p: float) -> float:
    """As torch compares it with a number of 32 bits."""
    return torch.tensor(p, dtype=torch.float32).item()


def memory(now: Recording) -> tuple[torch.Tensor, torch.Tensor]:
    """Where a fetch draws a number, and a whole one."""
    if now.drawn is None:
        with torch.inference_mode(False):
            now.drawn = torch.empty(1), torch.empty(1, dtype=torch.int64)
    return now.drawn


_libraries = operator.attrgetter("empty", "exp", "randint", "rand", "randperm")


def _usual() -> bool:
    """Whether new tensors are plain ones, of 32 bits, and nobody listens to what is called."""
    return (
        torch.get_default_dtype() is torch.float32
        and not torch._C._len_torch_function_stack()
        and not torch._C._len_torch_dispatch_stack()
    )
