"""Trials of torchvision's v2 and its decoders: small pictures, each with torchvision's result.

The daemon may compute an operation if all its results are equal.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from PIL import Image

from ..materialize.trials import Trial, encode_source, sources
from ..recipes.job import Job, read_pixels
from ..recipes.pictures import Op, Recipe, Source, compute_by_pillow
from .readers import IO, decode_by_torchvision, make_plan
from .vision import compute_by_torch

#: Sources and operations of each trial. Values are at the limits of the recorded range, and between.
_ROWS: list[tuple[str, list[Op]]] = [
    *(
        ("RGB L RGBw RGBb", [(f"torch_{kind}", *size) for size in ((17, 13), (47, 61), (33, 11), (12, 27), (90, 100))])
        for kind in ("bilinear", "bicubic")
    ),
    ("RGB RGBw RGBb", [("torch_saturation", by) for by in (0, 0.37, 1.013, 1.9)]),
    ("RGB L RGBw RGBb", [("torch_contrast", by) for by in (0, 0.37, 1.013, 1.9)]),
    ("RGB RGBb", [("torch_hue", by) for by in (-0.5, -0.13, 0.02, 0.41, 0.5)]),
    ("RGB RGBw RGBf", [("torch_grayscale", count) for count in (1, 3)]),
    ("RGB", [("torch_channels", order) for order in ([2, 0, 1], [1, 0, 2])]),
]


def operations() -> Iterator[Trial]:
    """Yield trials of v2, on tensors stored plane by plane and pixel by pixel."""
    found = sources() | {"RGBf": _between()}
    for on, ops in _ROWS:
        for kind in on.split():
            for op in ops:
                source = found[kind]
                core = compute_by_pillow(source, ())
                planes = read_pixels(core)
                for tensor in (planes, planes.permute(1, 2, 0).contiguous().permute(2, 0, 1)):
                    expected = compute_by_torch(op[0], tensor, *op[1:]).contiguous()
                    bands, height, width = expected.shape
                    recipe = Recipe(source, (op,), "L" if bands == 1 else core.mode, (width, height))
                    yield Trial(op[0], Job(recipe, None, torch.empty_like(expected), None), expected)


def _between() -> Source:
    """Return colours whose grey differs if products are rounded before they are added."""
    colours = (20, 152, 7), (40, 244, 244), (40, 252, 80), (110, 111, 26), (140, 160, 81)
    picture = Image.new("RGB", (len(colours), 2))
    picture.putdata(colours * 2)
    return encode_source(picture, "PNG")


def decoders() -> Iterator[Trial]:
    """Yield trials of torchvision.io. If its tensors have another layout, all trials fail."""
    for name, source in sources().items():
        if name.startswith("JPEG "):
            expected = decode_by_torchvision(source.data)
            recipe = Recipe(source, (), source.mode, source.size)
            if expected.stride() != make_plan(recipe).strides():
                expected = expected[:, :0]
            job = Job(recipe, None, torch.empty(expected.shape, dtype=torch.uint8), None)
            yield Trial(IO, job, expected.contiguous())
