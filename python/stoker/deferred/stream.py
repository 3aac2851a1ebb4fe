"""The end of a fetch: all samples are there, and the loader's collate function gets them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from .recipes.pictures import Recipe, recording


class Gathering:
    """A loader's collate function. When it is called, all samples of the batch are there."""

    def __init__(self, collate: Callable[[Any], Any]) -> None:
        self._collate = collate

    def __call__(self, samples: Any) -> Any:
        if found := recording():
            found.gathered = True
        return self._collate(samples)


def decode_pictures(value: Any, deep: int = 8) -> None:
    """Decode the pictures that a batch holds."""
    if isinstance(value, sys.modules["PIL.Image"].Image):
        if type(value._im) is Recipe:
            value._im.make()
    elif deep and not isinstance(value, (str, bytes, torch.Tensor)):
        inside = value if isinstance(value, (dict, list, tuple)) else getattr(value, "__dict__", ())
        for each in list(inside.values() if isinstance(inside, dict) else inside):
            decode_pictures(each, deep - 1)
