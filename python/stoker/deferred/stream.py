"""The end of a fetch, when the loader's collate function is called."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from .recipes.pictures import Recipe, recording


class Gathering:
    """Wraps a collate function. Its call shows that all samples of the batch are there."""

    def __init__(self, collate: Callable[[Any], Any]) -> None:
        self._collate = collate

    def __call__(self, samples: list[Any]) -> Any:
        if found := recording():
            found.is_gathered = True
        return self._collate(samples)


def decode_pictures(value: object, deep: int = 8) -> None:
    """Decode the deferred pictures that a batch holds."""
    if isinstance(value, sys.modules["PIL.Image"].Image):
        if type(value._im) is Recipe:
            value._im.materialize()
    elif deep and not isinstance(value, (str, bytes, torch.Tensor)):
        inside = value if isinstance(value, (dict, list, tuple)) else getattr(value, "__dict__", ())
        for each in list(inside.values() if isinstance(inside, dict) else inside):
            decode_pictures(each, deep - 1)
