"""Where deferring begins and ends: around each fetch of a DataLoader, in its worker or, without workers, in the trainer."""

from __future__ import annotations

import functools
import sys
from typing import Any

import torch.utils.data._utils as loading

from . import _pictures, _tensors
from ._making import finish
from ._pictures import Recording

_installed = False


def install() -> None:
    """Have every fetch of this process deferred from here on."""
    global _installed
    if not _installed:
        _installed = True
        for fetcher in (loading.fetch._MapDatasetFetcher, loading.fetch._IterableDatasetFetcher):
            fetcher.fetch = _fetch_in_place_of(fetcher.fetch)


def _fetch_in_place_of(original: Any) -> Any:
    @functools.wraps(original)
    def fetch(self: Any, index: Any) -> Any:
        if Recording.now is not None or not _ready():  # a data set that iterates a loader of its own
            return original(self, index)
        Recording.now = recording = Recording()
        try:
            return original(self, index)
        finally:
            finish(recording)
            Recording.now = None

    return fetch


def _ready() -> bool:
    """Whether Pillow is there; what it takes is put in place as soon as the program has imported what it is for."""
    if "PIL.Image" not in sys.modules or not _pictures.install():
        return False
    _tensors.install(sys.modules)
    return True
