"""Small pictures, each with what may be asked of it: made by the daemon and by the installed libraries, they tell
which operations the daemon may make here.

A row of the table names what is tried, then the sources and the operations that follow. Sizes are odd, and some are
beyond the tiles and vectors of either side, so that edges show.
"""

from __future__ import annotations

import io
import math
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

from ..recipes.job import Job, pixels
from ..recipes.pictures import Op, Recipe, Source, by_pillow
from ..recipes.plan import Call, Look, Steps, call_of

_aten = torch.ops.aten

# Fewer values than torch shares out among threads (32,768): those would spin, and this comes before a fork.
_WIDE = (115, 81)

TURN = [math.cos(0.4), math.sin(0.4), -3.5, -math.sin(0.4), math.cos(0.4), 6.25]
SHEAR = [1, 0.3, -2.5, 0.1, 0.9, 1.75]
_TILT = [1.1, 0.05, -1.5, 0.1, 0.9, 0.5, 0.002, 0.001]
_TABLE = [(value * 7 + 3) % 256 for value in range(256)]

#: What is tried, on which sources, with which operations.
_ROWS: list[tuple[str, str, list[list[Op]]]] = [
    ("JPEG", "RGB420 RGB444 RGB422 RGB420p RGB420w L Lp", [[]]),
    ("JPEG", "RGB420w", [[("crop", 17, 11, 98, 70), ("resize", 33, 33, 2, None)]]),
    ("PNG", "L P LA RGB RGBA", [[]]),
    ("convert", "L LA P RGB RGBA", [[("convert", mode)] for mode in ("L", "RGB")]),
    ("convert", "L RGB", [[("convert", mode)] for mode in ("LA", "RGBA")]),
    ("crop", "L RGB RGBA", [[("crop", 3, 5, 20, 18)], [("crop", -3, 5, 20, 90)]]),
    ("resize", "RGB RGBw", [[("resize", 17, 13, kind, None)] for kind in range(6)]),
    ("resize", "RGB L", [[("resize", 47, 61, kind, None)] for kind in range(6)]),
    ("resize", "RGBw", [[("resize", 140, 20, 2, (1.5, 2.25, 112.0, 77.75))], [("resize", 64, 96, 3, None)]]),
    ("resize", "L", [[("resize", 11, 40, 3, None)]]),
    ("resize", "P LA RGBA", [[("resize", 11, 40, 0, None)]]),
    ("reduce", "L RGB", [[("reduce", 2, 3, (0, 0, 33, 27))], [("reduce", 4, 4, (1, 2, 30, 25))]]),
    ("transpose", "L RGB RGBA", [[("transpose", method)] for method in range(7)]),
    ("affine", "L RGB", [[("affine", 33, 27, a, kind, fill)] for a, fill in ((TURN, None),) for kind in (0, 2, 3)]),
    ("affine", "RGB", [[("affine", 40, 30, SHEAR, kind, [9, 200, 77])] for kind in (0, 2, 3)]),
    ("perspective", "L RGB", [[("perspective", 33, 27, _TILT, kind, None)] for kind in (0, 2, 3)]),
    ("point", "L", [[("point", _TABLE)]]),
    ("point", "RGB", [[("point", _TABLE + _TABLE[::-1] + _TABLE)]]),
    *((name, "L RGB", [[(name, by)] for by in (0, 0.37, 1.9)]) for name in ("brightness", "color", "contrast")),
    ("sharpness", "L RGB RGBw", [[("sharpness", by)] for by in (0, 0.37, 1.9)]),
    ("autocontrast", "L RGB", [[("autocontrast", 0, 0)], [("autocontrast", 2, 5.5)]]),
    ("equalize", "L RGB", [[("equalize",)]]),
    ("posterize", "L RGB", [[("posterize", bits)] for bits in (1, 3, 8)]),
    ("solarize", "L RGB", [[("solarize", threshold)] for threshold in (0, 100, 127.5, 256)]),
    ("invert", "L RGB", [[("invert",)]]),
    ("hue", "RGB", [[("hue", by)] for by in (3, 128, 250)]),
    ("gaussian_blur", "L RGB RGBw", [[("gaussian_blur", by, by)] for by in (0.3, 1.0, 2.7)]),
    ("pad", "L RGB", [[("pad", kind, 3, 1, 5, 2)] for kind in ("edge", "reflect", "symmetric")]),
    ("expand", "L", [[("expand", 3, 1, 5, 2, [77])]]),
    ("expand", "RGB", [[("expand", 3, 1, 5, 2, [9, 200, 77])]]),
]
_STATISTICS = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # ImageNet's, as in torchvision's documentation
_NUMBERS = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


class Trial(NamedTuple):
    """A picture to be made, and what the installed libraries make of it."""

    name: str  # of what it tells about
    job: Job
    expected: torch.Tensor


def trials() -> Iterator[Trial]:
    """All of them."""
    found = sources()
    for name, on, programs in _ROWS:
        for kind in on.split():
            for ops in programs:
                yield trial_of(name, found[("JPEG " if name == "JPEG" else "") + kind], tuple(ops))
    for name, dtype in _NUMBERS.items():
        for kind in ("RGB", "L", "RGBw"):
            yield trial_of(name, found[kind], (), dtype)


def trial_of(name: str, source: Source, ops: tuple[Op, ...], dtype: torch.dtype | None = None) -> Trial:
    core = by_pillow(source, ops)
    recipe = Recipe(source, ops, core.mode, core.size)
    job = Job(recipe, None if dtype is None else _steps(dtype, recipe.bands), torch.empty(0), None)
    expected = job.run(pixels(core))
    return Trial(name, job._replace(place=torch.zeros_like(expected)), expected)


class _Decoded(Source):
    """One that Pillow decodes once for all trials."""

    __slots__ = ("core",)

    def decode(self) -> Any:
        from PIL import Image

        if not hasattr(self, "core"):
            image = Image.open(io.BytesIO(self.data))
            image.load()
            self.core = image.im
        return self.core


def _steps(dtype: torch.dtype, bands: int) -> Steps:
    """ToTensor, Normalize and a conversion."""
    look = Look("CHW" if bands > 1 else "1HW", ("HW" if bands > 1 else "", "W", ""), torch.uint8)
    return Steps(look, _calls(dtype, bands), look._replace(dtype=dtype))


def _calls(dtype: torch.dtype, bands: int) -> tuple[Call, ...]:
    mean, std = (torch.tensor(each[:bands], dtype=torch.float32).view(-1, 1, 1) for each in _STATISTICS)
    return (
        call_of(_aten._to_copy.default, (), {"dtype": torch.float32}),
        call_of(_aten.div.Tensor, (255,), {}),
        call_of(_aten.sub_.Tensor, (mean,), {}),
        call_of(_aten.div_.Tensor, (std,), {}),
        call_of(_aten._to_copy.default, (), {"dtype": dtype}),
    )


def sources() -> dict[str, Source]:
    """Files of small pictures, half smooth and half noise. PNGs, which lose nothing, but for those that are tried as
    JPEGs."""
    from PIL import Image

    chance = random.Random(7)

    def drawn(mode: str, width: int, height: int, black: bool = False) -> Any:
        bands = len(Image.new(mode, (1, 1)).getbands())
        rows, columns = np.mgrid[:height, :width]
        smooth = np.stack([(5 * columns + 3 * rows + 60 * band) % 256 for band in range(bands)], -1)
        noise = np.frombuffer(chance.randbytes(smooth.size), np.uint8).reshape(smooth.shape)
        pixels = np.where((columns < width // 2)[..., None], smooth, noise).astype(np.uint8)
        image = Image.frombytes(mode, (width, height), pixels.tobytes())
        if black:
            image = image.point(lambda value: 255 * (value > 127))
        if mode == "P":
            image.putpalette(chance.randbytes(768))
        return image

    found = {}
    for name, mode, size in (
        *((mode, mode, (33, 27)) for mode in ("L", "P", "LA", "RGB", "RGBA")),
        ("RGBw", "RGB", _WIDE),
    ):
        found[name] = written(drawn(mode, *size), "PNG", compress_level=1)
    found["RGBb"] = written(drawn("RGB", 65, 39, True), "PNG", compress_level=1)  # what overshoots
    for name, mode, size, how in (
        ("RGB420", "RGB", (33, 27), {"quality": 60, "subsampling": 2}),
        ("RGB444", "RGB", (33, 27), {"quality": 95, "subsampling": 0}),
        ("RGB422", "RGB", (45, 30), {"quality": 85, "subsampling": 1}),
        ("RGB420p", "RGB", (50, 35), {"quality": 75, "progressive": True}),
        ("RGB420w", "RGB", _WIDE, {"quality": 75}),
        ("L", "L", (33, 27), {"quality": 75}),
        ("Lp", "L", (33, 27), {"quality": 75, "progressive": True}),
    ):
        found["JPEG " + name] = written(drawn(mode, *size), "JPEG", **how)
    return found


def written(image: Any, kind: str, **how: Any) -> Source:
    out = io.BytesIO()
    image.save(out, kind, **how)
    return _Decoded(out.getvalue(), image.mode, image.size)
