"""What is asked of OpenCV, on the small pictures of `_trials`: as there, made by the daemon and by OpenCV."""

from __future__ import annotations

from collections.abc import Iterator

from . import _opencv
from ._pictures import Op
from ._trials import SHEAR, TURN, Trial, sources, trial_of

#: What is tried, on which sources, with which operations.
_ROWS: list[tuple[str, str, list[list[Op]]]] = [
    ("OpenCV's JPEG", "RGB420 RGB444 RGB422 RGB420p RGB420w L Lp", [[]]),
    (_opencv.GREY, "RGB420 RGB444 RGB422 RGB420p RGB420w", [[]]),
    ("OpenCV's PNG", "L RGB RGBw", [[]]),
    (_opencv.NAMES["cv_gray"], "RGB RGBw", [[("cv_gray",)]]),
    (_opencv.NAMES["cv_hsv"], "RGB RGBw", [[("cv_hsv",)]]),
    (_opencv.NAMES["cv_unhsv"], "RGB RGBw", [[("cv_unhsv",)]]),
    *(
        (_opencv.AFFINE, on, [[("cv_affine", *to, m, border, fill)] for m in (TURN, SHEAR) for border in (0, 1, 2, 4)])
        for on, to, fill in (("L", (47, 61), [77]), ("RGB", (33, 27), [9, 200, 77]), ("RGBw", (64, 40), [0, 0, 0]))
    ),
    *(
        (_opencv.RESIZE + name, "L RGB RGBw", [[("cv_resize", *to, kind)] for to in sizes])
        for kind, name, sizes in (
            (0, "nearest", ((17, 13), (47, 61), (140, 20))),
            (1, "linear", ((17, 13), (47, 61), (140, 20), (66, 54), (33, 11))),
            (3, "area", ((17, 13), (11, 9), (33, 11), (5, 7))),
        )
    ),
]


def trials() -> Iterator[Trial]:
    """All of them."""
    found = sources()
    for name, on, programs in _ROWS:
        for kind in on.split():
            source = found[("JPEG " if name.endswith("JPEG") else "") + kind]
            mode = "Y" if name == _opencv.GREY else source.mode
            own = _opencv.CvSource(source.data, source.format, mode, source.size)
            for ops in programs:
                yield trial_of(name, own, tuple(ops))
