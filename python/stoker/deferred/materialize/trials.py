"""Trials: small pictures with operations, computed by the daemon and by the installed libraries.

The daemon may compute an operation if its bytes are equal. A row of the table has the name of the trial,
the sources and the operations. Sides are odd, and some are larger than the tiles and vectors of
both implementations, so that errors at edges show.
"""

from __future__ import annotations

import io
import math
import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from ..recipes.job import Job, read_pixels
from ..recipes.pictures import Op, Recipe, Source, compute_by_pillow
from ..recipes.plan import Call, Layout, Steps, make_call

if TYPE_CHECKING:
    from PIL.Image import Image

_aten = torch.ops.aten

# Fewer values than torch splits among threads (32,768): its threads would spin, and a fork follows.
_WIDE = (115, 81)

TURN = [math.cos(0.4), math.sin(0.4), -3.5, -math.sin(0.4), math.cos(0.4), 6.25]
SHEAR = [1, 0.3, -2.5, 0.1, 0.9, 1.75]
_TILT = [1.1, 0.05, -1.5, 0.1, 0.9, 0.5, 0.002, 0.001]
_TABLE = [(value * 7 + 3) % 256 for value in range(256)]

#: Name, sources and operations of each trial.
_ROWS: list[tuple[str, str, list[list[Op]]]] = [
    ("JPEG", "RGB420 RGB444 RGB422 RGB420p RGB420w L Lp", [[]]),
    ("JPEG", "RGB420w", [[("crop", 17, 11, 98, 70), ("resize", 33, 33, 2, None)]]),
    ("PNG", "L RGB", [[]]),
    ("convert", "L", [[("convert", "RGB")]]),
    ("convert", "RGB", [[("convert", "L")]]),
    ("crop", "L RGB", [[("crop", 3, 5, 20, 18)], [("crop", -3, 5, 20, 90)]]),
    ("resize", "RGB RGBw", [[("resize", 17, 13, kind, None)] for kind in range(6)]),
    ("resize", "RGB L", [[("resize", 47, 61, kind, None)] for kind in range(6)]),
    ("resize", "RGBw", [[("resize", 140, 20, 2, (1.5, 2.25, 112.0, 77.75))], [("resize", 64, 96, 3, None)]]),
    ("resize", "L", [[("resize", 11, 40, 3, None)]]),
    ("reduce", "L RGB", [[("reduce", 2, 3, (0, 0, 33, 27))], [("reduce", 4, 4, (1, 2, 30, 25))]]),
    ("transpose", "L RGB", [[("transpose", method)] for method in range(7)]),
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
_STATISTICS = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # ImageNet's, from torchvision's documentation
_NUMBERS = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


class Trial(NamedTuple):
    """A job, and the installed libraries' result."""

    name: str  # of the operation, format or dtype that is tried
    job: Job
    expected: torch.Tensor


def trials() -> Iterator[Trial]:
    """Yield all trials."""
    found = sources()
    for name, on, programs in _ROWS:
        for kind in on.split():
            for ops in programs:
                yield make_trial(name, found[("JPEG " if name == "JPEG" else "") + kind], tuple(ops))
    for name, dtype in _NUMBERS.items():
        for kind in ("RGB", "L", "RGBw"):
            yield make_trial(name, found[kind], (), dtype)


def make_trial(name: str, source: Source, ops: tuple[Op, ...], dtype: torch.dtype | None = None) -> Trial:
    core = compute_by_pillow(source, ops)
    recipe = Recipe(source, ops, core.mode, core.size)
    job = Job(recipe, None if dtype is None else _steps(dtype, recipe.bands), torch.empty(0), None)
    expected = job.run(read_pixels(core))
    return Trial(name, job._replace(place=torch.zeros_like(expected)), expected)


class _Decoded(Source):
    """A source that Pillow decodes once for all trials."""

    __slots__ = ("core",)

    def decode(self) -> Any:
        from PIL import Image

        if not hasattr(self, "core"):
            image = Image.open(io.BytesIO(self.data))
            image.load()
            self.core = image.im
        return self.core


def _steps(dtype: torch.dtype, bands: int) -> Steps:
    """Return the steps of ToTensor, Normalize and a conversion."""
    layout = Layout("CHW" if bands > 1 else "1HW", ("HW" if bands > 1 else "", "W", ""), torch.uint8)
    return Steps(layout, _calls(dtype, bands), layout._replace(dtype=dtype))


def _calls(dtype: torch.dtype, bands: int) -> tuple[Call, ...]:
    mean, std = (torch.tensor(each[:bands], dtype=torch.float32).view(-1, 1, 1) for each in _STATISTICS)
    return (
        make_call(_aten._to_copy.default, (), {"dtype": torch.float32}),
        make_call(_aten.div.Tensor, (255,), {}),
        make_call(_aten.sub_.Tensor, (mean,), {}),
        make_call(_aten.div_.Tensor, (std,), {}),
        make_call(_aten._to_copy.default, (), {"dtype": dtype}),
    )


def sources() -> dict[str, Source]:
    """Return the files of small pictures, half smooth and half noise.

    They are PNGs, which are lossless, except for the trials of JPEG.
    """
    from PIL import Image

    chance = random.Random(7)

    def draw(mode: str, width: int, height: int, black: bool = False) -> Any:
        bands = len(Image.new(mode, (1, 1)).getbands())
        rows, columns = np.mgrid[:height, :width]
        smooth = np.stack([(5 * columns + 3 * rows + 60 * band) % 256 for band in range(bands)], -1)
        noise = np.frombuffer(chance.randbytes(smooth.size), np.uint8).reshape(smooth.shape)
        pixels = np.where((columns < width // 2)[..., None], smooth, noise).astype(np.uint8)
        image = Image.frombytes(mode, (width, height), pixels.tobytes())
        if black:
            image = image.point(lambda value: 255 * (value > 127))
        return image

    found = {}
    for name, mode, size in (
        *((mode, mode, (33, 27)) for mode in ("L", "RGB")),
        ("RGBw", "RGB", _WIDE),
    ):
        found[name] = encode_source(draw(mode, *size), "PNG", compress_level=1)
    found["RGBb"] = encode_source(draw("RGB", 65, 39, True), "PNG", compress_level=1)  # values that overshoot
    for name, mode, size, how in (
        ("RGB420", "RGB", (33, 27), {"quality": 60, "subsampling": 2}),
        ("RGB444", "RGB", (33, 27), {"quality": 95, "subsampling": 0}),
        ("RGB422", "RGB", (45, 30), {"quality": 85, "subsampling": 1}),
        ("RGB420p", "RGB", (50, 35), {"quality": 75, "progressive": True}),
        ("RGB420w", "RGB", _WIDE, {"quality": 75}),
        ("L", "L", (33, 27), {"quality": 75}),
        ("Lp", "L", (33, 27), {"quality": 75, "progressive": True}),
    ):
        found["JPEG " + name] = encode_source(draw(mode, *size), "JPEG", **how)
    return found


def encode_source(image: Image, kind: str, **how: Any) -> Source:
    out = io.BytesIO()
    image.save(out, kind, **how)
    return _Decoded(out.getvalue(), image.mode, image.size)
