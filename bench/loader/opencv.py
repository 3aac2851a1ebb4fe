#!/usr/bin/env python3
"""Compares what `stoker feed` makes of OpenCV's operations with what OpenCV makes, bit by bit.

    python bench/loader/opencv.py [--pictures 300] [operation ...]

Each operation is asked of random pictures, of odd sizes, with random arguments: within a fetch, where it waits and the
daemon makes it, and alone. A row says how many pictures and bytes there were, how many waited to the end, how many the
daemon made, and how many bytes differ. It ends with 1 where some do.
"""

import argparse
import functools
import io
import os
import sys

import cv2
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "python"))
os.environ.setdefault("STOKER_BIN", os.path.join(ROOT, "bin", "stoker"))

from PIL import Image  # noqa: E402
from stoker import _arrays, _defer, _line, _opencv, _pictures  # noqa: E402
from stoker._making import maker  # noqa: E402


def some(rng, *choices):
    return choices[rng.integers(len(choices))]


def size_of(rng, least=2, most=300):
    return tuple(int(side) for side in rng.integers(least, most, 2))


def smaller(rng, image):
    return tuple(int(rng.integers(2, side + 1)) for side in image.shape[1::-1])


def even(rng, image):
    """A size that divides it, where there is one."""
    return tuple(int(side // next(by for by in (some(rng, 2, 3, 4, 5), 1) if side % by == 0)) for side in image.shape[1::-1])


def matrix(rng, image):
    height, width = image.shape[:2]
    m = cv2.getRotationMatrix2D((width / 2, height / 2), rng.uniform(-180, 180), rng.uniform(0.3, 3))
    m[:, 2] += rng.uniform(-width, width), rng.uniform(-height, height)
    return m + rng.normal(0, 0.05, (2, 3))


def colour(rng, image):
    return tuple(int(v) for v in rng.integers(0, 256, 3)) if image.ndim == 3 else int(rng.integers(0, 256))


def warp(border, rng, image):
    return cv2.warpAffine(image, matrix(rng, image), size_of(rng), flags=cv2.INTER_LINEAR, borderMode=border, borderValue=colour(rng, image))


def projection(border, rng, image):
    (height, width), to = image.shape[:2], size_of(rng)
    corners = np.float32([[0, 0], [width, 0], [width, height], [0, height]])
    moved = np.float32(corners * np.divide(to, (width, height)) + rng.normal(0, 0.1, (4, 2)) * to)
    matrix = cv2.getPerspectiveTransform(corners, moved)
    return cv2.warpPerspective(image, matrix, to, flags=cv2.INTER_LINEAR, borderMode=border, borderValue=colour(rng, image))


def bordered(border, rng, image):
    sides = [int(rng.integers(0, max(side, 1))) for side in (image.shape[0], image.shape[0], image.shape[1], image.shape[1])]
    return cv2.copyMakeBorder(image, *sides, border, value=colour(rng, image))


def normalized(rng, image):
    table = (np.arange(256, dtype=np.float32) - np.float32(rng.uniform(90, 130))) / np.float32(rng.uniform(50, 60))
    return cv2.merge([cv2.LUT(image[:, :, i], table + np.float32(i)) for i in range(3)]) if image.ndim == 3 else cv2.LUT(image, table)


def cut(rng, image):
    height, width = image.shape[:2]
    top, left = int(rng.integers(0, height - 1)), int(rng.integers(0, width - 1))
    return image[top : int(rng.integers(top + 2, height + 1)), left : int(rng.integers(left + 2, width + 1))]


def resized(kind, take, rng, image):
    return cv2.resize(image, take(rng, image), interpolation=kind)


def blurred(rng, image):
    """With sizes of its own, or by a sigma alone, as is usual."""
    border = some(rng, cv2.BORDER_DEFAULT, cv2.BORDER_CONSTANT, cv2.BORDER_REPLICATE, cv2.BORDER_REFLECT)
    sizes = some(rng, (0, 0), tuple(2 * int(side) + 1 for side in rng.integers(0, 12, 2)))
    sigma = rng.uniform(0.1, 6) if sizes == (0, 0) or rng.integers(3) else 0
    return cv2.GaussianBlur(image, sizes, sigma, sigmaY=some(rng, 0, rng.uniform(0.1, 6)), borderType=border)


def weighted(other, rng, image):
    alpha = some(rng, 0.5, 4, round(rng.uniform(-1, 3), 1), rng.uniform(-1, 3))
    gamma = some(rng, 0, 128, round(rng.uniform(-99, 99), 1))
    return cv2.addWeighted(image, alpha, other(rng, image), some(rng, 1 - alpha, -alpha, 1, rng.uniform(-1, 1)), gamma)


ANY, RGB, GREY = (cv2.IMREAD_COLOR, cv2.IMREAD_GRAYSCALE), (cv2.IMREAD_COLOR,), (cv2.IMREAD_GRAYSCALE,)

#: By name: what is done to pictures read with one of these flags.
OPERATIONS = {
    "imdecode": (ANY, lambda rng, image: image),
    "cvtColor BGR2RGB": (RGB, lambda rng, image: cv2.cvtColor(image, cv2.COLOR_BGR2RGB)),
    "cvtColor BGR2GRAY": (RGB, lambda rng, image: cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)),
    "cvtColor RGB2GRAY": (RGB, lambda rng, image: cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)),
    "cvtColor GRAY2BGR": (GREY, lambda rng, image: cv2.cvtColor(image, cv2.COLOR_GRAY2BGR)),
    "cvtColor BGR2HSV": (RGB, lambda rng, image: cv2.cvtColor(image, cv2.COLOR_BGR2HSV)),
    "cvtColor RGB2HSV": (RGB, lambda rng, image: cv2.cvtColor(image, cv2.COLOR_RGB2HSV)),
    "cvtColor HSV2BGR": (RGB, lambda rng, image: cv2.cvtColor(image, cv2.COLOR_HSV2BGR)),
    "cvtColor HSV2RGB": (RGB, lambda rng, image: cv2.cvtColor(image, cv2.COLOR_HSV2RGB)),
    "cvtColor BGR2LAB": (RGB, lambda rng, image: cv2.cvtColor(image, cv2.COLOR_BGR2LAB)),
    "cvtColor RGB2LAB": (RGB, lambda rng, image: cv2.cvtColor(image, cv2.COLOR_RGB2LAB)),
    "cvtColor LAB2BGR": (RGB, lambda rng, image: cv2.cvtColor(image, cv2.COLOR_LAB2BGR)),
    "cvtColor LAB2RGB": (RGB, lambda rng, image: cv2.cvtColor(image, cv2.COLOR_LAB2RGB)),
    "resize nearest": (ANY, functools.partial(resized, 0, lambda rng, image: size_of(rng))),
    "resize linear": (ANY, functools.partial(resized, 1, lambda rng, image: size_of(rng))),
    "resize linear, to a part": (ANY, functools.partial(resized, 1, even)),
    "resize cubic": (ANY, functools.partial(resized, 2, lambda rng, image: size_of(rng))),
    "resize area": (ANY, functools.partial(resized, 3, smaller)),
    "resize area, to a part": (ANY, functools.partial(resized, 3, even)),
    "flip": (ANY, lambda rng, image: cv2.flip(image, some(rng, -1, 0, 1))),
    "rotate": (ANY, lambda rng, image: cv2.rotate(image, some(rng, 0, 1, 2))),
    "transpose": (ANY, lambda rng, image: cv2.transpose(image)),
    "slices": (ANY, cut),
    "slices, resize linear": (ANY, lambda rng, image: resized(1, lambda rng, image: size_of(rng), rng, cut(rng, image))),
    **{f"warpAffine {name}": (ANY, functools.partial(warp, kind)) for name, kind in (("constant", 0), ("replicate", 1), ("reflect", 2), ("reflect101", 4))},
    **{f"warpPerspective {name}": (ANY, functools.partial(projection, kind)) for name, kind in (("constant", 0), ("replicate", 1), ("reflect", 2), ("reflect101", 4))},
    **{f"copyMakeBorder {name}": (ANY, functools.partial(bordered, kind)) for name, kind in (("constant", 0), ("replicate", 1), ("reflect", 2), ("reflect101", 4))},
    "GaussianBlur": (ANY, blurred),
    "addWeighted, its blur": (ANY, functools.partial(weighted, blurred)),
    "addWeighted, its mirror": (ANY, functools.partial(weighted, lambda rng, image: cv2.flip(image, 1))),
    "addWeighted, its grey": (RGB, functools.partial(weighted, lambda rng, image: cv2.cvtColor(cv2.cvtColor(image, 7), 8))),
    "LUT": (ANY, lambda rng, image: cv2.LUT(image, rng.integers(0, 256, 256).astype(np.uint8))),
    "LUT and merge, float32": (ANY, normalized),
    "split, merge": (RGB, lambda rng, image: cv2.merge(cv2.split(image)[::-1])),
    "add": (ANY, lambda rng, image: cv2.add(image, int(rng.integers(-99, 99)))),
    "add a scalar of each band": (ANY, lambda rng, image: cv2.add(image, (int(rng.integers(0, 99)), 2.5, 3, 0))),
    "subtract": (ANY, lambda rng, image: cv2.subtract(image, int(rng.integers(0, 99)))),
    "multiply": (ANY, lambda rng, image: cv2.multiply(image, float(rng.uniform(0.2, 2)))),
    "multiply by a scalar of each band": (ANY, lambda rng, image: cv2.multiply(image, (float(rng.uniform(0.2, 2)), 1.1, 0.3, 0))),
}  # fmt: skip


def files_of(count, rng):
    """Files of pictures, half smooth and half noise: JPEGs of several kinds, some of which are turned, and PNGs."""
    files = []
    for number in range(count):
        width, height = size_of(rng)
        smooth = Image.fromarray(rng.integers(0, 256, (2 + height // 9, 2 + width // 9, 3), np.uint8)).resize((width, height), 3)
        noise = rng.integers(0, 256, (height, width, 3), np.uint8)
        image = Image.fromarray(np.where((np.arange(width) < width // 2)[None, :, None], np.asarray(smooth), noise).astype(np.uint8))
        out, exif = io.BytesIO(), Image.Exif()
        if number % 4 == 1:
            exif[0x112] = int(rng.integers(1, 9))
        kind = number % 6
        image = image.convert("L") if kind % 3 == 2 else image
        if kind == 3:
            image.save(out, "PNG")
        else:
            image.save(out, "JPEG", quality=int(rng.integers(30, 98)), subsampling=some(rng, 0, 1, 2), progressive=kind == 4, exif=exif)
        files.append((np.frombuffer(out.getvalue(), np.uint8), image.mode))
    return files


def results(operation, flags, files, seed):
    """What it gives of each file."""
    made = []
    for number, (data, _) in enumerate(files):
        rng = np.random.default_rng((seed, number))
        flag = some(rng, *flags)
        made.append(operation(rng, cv2.imdecode(data, flag)))
    return made


def compare(name, files):
    """A row of the table."""
    flags, operation = OPERATIONS[name]
    asked, jobs, left = [], 0, 0
    call = _line.Line.__call__

    def counted(line, given):
        nonlocal jobs, left
        refused = call(line, given)
        jobs, left = jobs + len(given), left + len(refused or ())
        return refused

    _line.Line.__call__, _pictures.Recording.needed = counted, staticmethod(asked.append)
    waited = 0

    def fetch():
        nonlocal waited
        found = results(operation, flags, files, name.encode()[0])
        waited = sum(_arrays.waits(each) for each in found)
        return found

    fed = _defer.fed(fetch, None)
    _line.Line.__call__ = call
    alone = results(operation, flags, files, name.encode()[0])
    differing = sum(
        int((one.view(np.uint8) != other.view(np.uint8)).sum()) if one.shape == other.shape and one.dtype == other.dtype else one.nbytes
        for one, other in zip(map(np.ascontiguousarray, fed), map(np.ascontiguousarray, alone))
    )
    return len(alone), sum(each.nbytes for each in alone), waited, jobs - left, differing


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("operations", nargs="*", default=list(OPERATIONS), metavar="operation")
    parser.add_argument("--pictures", type=int, default=300)
    given = parser.parse_args()
    cv2.setNumThreads(1)
    _pictures._TRIED = 1 << 30  # nothing is given up
    _opencv.dear().clear()  # nor left because OpenCV is faster
    if not _defer._connected() or not _defer._ready() or not _opencv.checked:
        sys.exit("there is no daemon, or OpenCV could not be compared")
    print(f"OpenCV {cv2.__version__}, NumPy {np.__version__}; left to OpenCV by the check at start-up: {sorted(_pictures.left) or 'nothing'}\n")
    print("| operation | pictures | bytes | waited | made by Go | bytes that differ |\n|---|---|---|---|---|---|")
    wrong = 0
    for name in given.operations:
        found = compare(name, files_of(given.pictures, np.random.default_rng(7)))
        wrong += found[-1]
        print(f"| {name} | " + " | ".join(f"{each:,}" for each in found) + " |", flush=True)
    assert maker.line is not None
    maker.line.close()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
