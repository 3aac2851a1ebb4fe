"""Pictures of bytes for others' pipelines: `ray.data.read_binary_files(...).map_batches(stoker.Decode(transform),
...)`."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import Any


class Decode:
    """Bytes of pictures to what a transform makes of them, bit by bit what Pillow and torchvision make. The node's
    daemon does it, if there is one.

    It takes and gives a dictionary of columns, as Ray Data's map_batches has them with batch_format="numpy". It can be
    pickled, and an object of it serves one thread. The transform is given each picture as RGB, as ImageFolder does,
    and gives a tensor.
    """

    def __init__(self, transform: Callable[[Any], Any], *, column: str = "bytes", into: str = "image") -> None:
        self.transform, self.column, self.into = transform, column, into

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        files = batch[self.column]
        rest = {name: values for name, values in batch.items() if name != self.column}
        import PIL.Image  # noqa: F401  before anything is deferred

        from .deferring import fed

        return {**rest, self.into: fed(lambda: self._make(files), _node()).numpy()}

    def _make(self, files: Any) -> Any:
        import PIL.Image
        import torch

        made = []
        for data in files:
            with PIL.Image.open(io.BytesIO(data)) as picture:
                made.append(self.transform(picture.convert("RGB")))
        return torch.stack(made)


def _node() -> str | None:
    """A name that all workers of a Ray node share; None elsewhere."""
    raylet = os.environ.get("RAY_RAYLET_PID")
    return f"ray-{raylet}" if raylet else None
