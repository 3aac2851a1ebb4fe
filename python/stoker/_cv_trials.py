"""What is asked of OpenCV, on the small pictures of `_trials`: as there, made by the daemon and by OpenCV."""

from __future__ import annotations

from collections.abc import Iterator

from . import _opencv
from ._pictures import Op
from ._trials import SHEAR, TURN, Trial, sources, trial_of

def _blur(width: int, height: int, x: float, y: float, border: int) -> Op:
    return ("cv_blur", _opencv.taps(width, x), _opencv.taps(height, y), border, [width, height, x, y])


_TILT = [1.1, 0.05, -1.5, 0.1, 0.9, 0.5, 0.002, 0.001, 1.05]

#: Sizes at which many sums of a cubic resize lie so near the middle between two bytes that another order of summing shows.
_TIES = (77, 88), (9, 81), (102, 52), (137, 142), (117, 132), (126, 64)

#: What is tried, on which sources, with which operations.
_ROWS: list[tuple[str, str, list[list[Op]]]] = [
    ("OpenCV's JPEG", "RGB420 RGB444 RGB422 RGB420p RGB420w L Lp", [[]]),
    (_opencv.GREY, "RGB420 RGB444 RGB422 RGB420p RGB420w", [[]]),
    ("OpenCV's PNG", "L RGB RGBw", [[]]),
    (_opencv.NAMES["cv_gray"], "RGB RGBw", [[("cv_gray",)]]),
    (_opencv.NAMES["cv_hsv"], "RGB RGBw", [[("cv_hsv",)]]),
    (_opencv.NAMES["cv_unhsv"], "RGB RGBw", [[("cv_unhsv",)]]),
    *(
        (name, on, [[(op, *to, m, border, fill)] for m in matrices for border in (0, 1, 2, 4)])
        for name, op, matrices in ((_opencv.AFFINE, "cv_affine", (TURN, SHEAR)), (_opencv.PERSPECTIVE, "cv_perspective", (_TILT,)))
        for on, to, fill in (("L", (47, 61), [77]), ("RGB", (33, 27), [9, 200, 77]), ("RGBw", (64, 40), [0, 0, 0]))
    ),
    (_opencv.NAMES["cv_lab"], "RGB RGBw", [[("cv_lab",)]]),
    (_opencv.NAMES["cv_unlab"], "RGB RGBw", [[("cv_unlab",)]]),
    (_opencv.BLUR, "L RGB RGBw", [[_blur(*asked)] for asked in ((3, 3, 0, 0, 4), (7, 7, 1.5, 1.5, 0), (23, 5, 4.1, 0.8, 1), (9, 13, 0, 2, 2))]),
    (_opencv.WEIGHTED, "L RGB RGBw", [[("cv_weigh", *by, [], [("transpose", 0)])] for by in ((0.7, 0.3, 0), (4, -4, 128), (1.1, 0.9, -7.7), (0.3, 1, 0.5))]),
    *(
        (_opencv.RESIZE + name, "L RGB RGBw", [[("cv_resize", *to, kind)] for to in sizes])
        for kind, name, sizes in (
            (0, "nearest", ((17, 13), (47, 61), (140, 20))),
            (1, "linear", ((17, 13), (47, 61), (140, 20), (66, 54), (33, 11))),
            (2, "cubic", ((17, 13), (47, 61), *_TIES)),
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
