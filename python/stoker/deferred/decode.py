"""stoker.Decode, for other pipelines: `ray_dataset.map_batches(stoker.Decode(transform), ...)`."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable
from typing import Any


class Decode:
    """Turns bytes of pictures into what a transform makes of them, bit by bit as Pillow and
    torchvision do.

    The node's daemon computes the pixels, if there is one. Input and output are a dictionary of
    columns, as in Ray Data's map_batches with batch_format="numpy". A Decode can be pickled, and
    serves one thread. The transform gets each picture as RGB, as with ImageFolder, and returns a
    tensor.
    """

    def __init__(self, transform: Callable[[Any], Any], *, column: str = "bytes", into: str = "image") -> None:
        self.transform, self.column, self.into = transform, column, into

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        files = batch[self.column]
        rest = {name: values for name, values in batch.items() if name != self.column}
        import PIL.Image  # noqa: F401  before anything is deferred

        from .deferring import fetch_outside_loader

        return {**rest, self.into: fetch_outside_loader(lambda: self._decode(files), _find_node()).numpy()}

    def _decode(self, files: Iterable[bytes]) -> Any:
        import PIL.Image
        import torch

        tensors = []
        for data in files:
            with PIL.Image.open(io.BytesIO(data)) as picture:
                tensors.append(self.transform(picture.convert("RGB")))
        return torch.stack(tensors)


def _find_node() -> str | None:
    """Return a name that all workers of a Ray node share; None elsewhere."""
    raylet = os.environ.get("RAY_RAYLET_PID")
    return f"ray-{raylet}" if raylet else None
