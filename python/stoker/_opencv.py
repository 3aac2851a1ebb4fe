"""OpenCV's arrays that are made later: what `imread` and `imdecode` read within a fetch, and what OpenCV's functions
make of arrays that wait.

Bytes are those of the installed OpenCV, which `_trust` has compared before anything waits. What is not below, or was
found to differ, gets real arrays and is OpenCV's own, as are files that are out of the ordinary.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import io
import itertools
import os
import platform
import stat
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _albucore, _arrays, _bands, _cv_files, _files, _pictures, _share
from ._arrays import LaterArray
from ._pictures import Recipe, Source, recording
from ._plan import call_of
from ._trust import mark

Handler = Callable[..., Any]

checked = False  # it is known what of this waits
_LONGEST = 1 << 16  # of sides
_UNCHANGED, _GRAY, _COLOR, _IGNORE, _RGB = -1, 0, 1, 128, 256  # OpenCV's flags
_BGR_OF: dict[int, tuple[str, ...]] = {  # OpenCV's codes of conversions, as operations
    4: ("swap",),
    6: ("swap", "cv_gray"),
    7: ("cv_gray",),
    8: ("triple",),
    40: ("swap", "cv_hsv"),
    41: ("cv_hsv",),
    44: ("swap", "cv_lab"),
    45: ("cv_lab",),
    54: ("cv_unhsv", "swap"),
    55: ("cv_unhsv",),
    56: ("cv_unlab", "swap"),
    57: ("cv_unlab",),
}
_FLIPS = {0: 1, 1: 0, -1: 3}  # flipCode by sign, as Pillow's numbers
_TURNS = {0: 4, 1: 3, 2: 2}  # cv2.ROTATE_*
_SIDES = {1: "edge", 2: "symmetric", 4: "reflect"}  # cv2.BORDER_*
_INTERPOLATIONS = {0: "nearest", 1: "linear", 2: "cubic", 3: "area"}
_LEAST_CUBIC = 4  # of sides: OpenCV resizes smaller pictures in another way
_MOST_TAPS = 255  # of a blur
_HEAVIEST = 1 << 20  # of weights
GREY = "OpenCV's grey JPEG"
AFFINE = "OpenCV's warpAffine"
PERSPECTIVE = "OpenCV's warpPerspective"
RESIZE = "OpenCV's resize "  # what is tried, with the interpolation's name behind it
BLUR = "OpenCV's GaussianBlur"
WEIGHTED = "OpenCV's addWeighted"
NAMES = {
    "cv_gray": "OpenCV's gray",
    "cv_hsv": "OpenCV's HSV",
    "cv_unhsv": "OpenCV's HSV",
    "cv_lab": "OpenCV's LAB",
    "cv_unlab": "OpenCV's LAB",
}
WHOLE = "OpenCV's resizes of whole pictures"


def _has_vectors() -> bool:
    """Whether the daemon has vectors for OpenCV's arithmetic here, as feed/kernels lists them."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", "rb", 8192) as file:
        return {b"avx2", b"fma"} <= set(file.read(8192).split(b"\n\n")[0].split())
    return False


@functools.cache
def dear() -> set[str]:
    """What costs more than OpenCV's vectors do (bench/loader/OPENCV.md): it is left to OpenCV.

    Most of it does only where the daemon has no vectors. Resizes of whole pictures are among that, which pay even then
    where only a part of the picture was decoded.
    """
    hsv = NAMES["cv_hsv"]
    if _has_vectors():
        return {hsv}
    return {hsv, AFFINE, PERSPECTIVE, WHOLE, RESIZE + "cubic", BLUR, WEIGHTED, NAMES["cv_lab"]}


#: What OpenCV's wheels for arm64 round otherwise, by KleidiCV and NEON: in so few pixels that small pictures may not
#: tell (bench/cpus/RESULTS.md).
ROUNDED_ON_ARM64: set[str] = {
    *(AFFINE, PERSPECTIVE, NAMES["cv_hsv"]),
    *(RESIZE + kind for kind in ("linear", "cubic", "area")),
}


def is_there() -> bool:
    """Whether OpenCV has been imported, and what it takes beside."""
    return "cv2" in sys.modules and hasattr(sys.modules["cv2"], "imdecode")


def told() -> dict[str, Any]:
    """What OpenCV's bytes may depend on."""
    module = sys.modules["cv2"]
    own = [mark(os.path.join(os.path.dirname(__file__), name)) for name in ("_cv_trials.py", "_opencv.py")]
    ipp = [module.ipp.useIPP(), module.ipp.getIppVersion()] if hasattr(module, "ipp") else []
    switches = [module.useOptimized(), *ipp]
    return {"opencv": [module.__version__, module.getBuildInformation(), *mark(str(module.__file__)), own, switches]}


def say_left(left: set[str]) -> str:
    """A sentence about it."""
    names = sorted(name.removeprefix("OpenCV's ") for name in left)
    return (
        f"left to OpenCV {sys.modules['cv2'].__version__}, whose bytes differ from the daemon's here: {', '.join(names)}"
    )


def wait_but_for(left: set[str]) -> set[str]:
    """From now on all of this waits but what was found to differ, or is known to, and what OpenCV does in less time."""
    global checked
    checked = True
    _pictures.left.update(left | dear() | (ROUNDED_ON_ARM64 if platform.machine() in ("aarch64", "arm64") else set()))
    return left


def _original(name: str) -> Any:
    """OpenCV's own function, whatever stands for it at the moment."""
    return getattr(getattr(sys.modules["cv2"], name), "original", getattr(sys.modules["cv2"], name))


class CvSource(Source):
    """A file that OpenCV reads. Mode "Y": as grey, of a colour JPEG whose brightness is read alone."""

    __slots__ = ()

    def decode(self) -> Any:
        from PIL import Image

        flags = _IGNORE | (_COLOR if self.mode == "RGB" else _GRAY)
        try:
            array = _original("imdecode")(np.frombuffer(self.data, np.uint8), flags)
            if array is None or array.shape[1::-1] != self.size:
                raise OSError("OpenCV does not read the picture")
        except Exception:
            if found := recording():
                found.failed = True
            raise
        return Image.fromarray(np.ascontiguousarray(array[..., ::-1]) if self.mode == "RGB" else array).im


# Reading.


def _imread(original: Any, *args: Any, **kwargs: Any) -> Any:
    flags = _flags(args, kwargs)
    if flags is not None and type(args[0]) is str and (found := _fetch()):
        try:
            with open(args[0], "rb") as file:
                told = os.fstat(file.fileno())
                later = _waiting(found, file, told.st_size, flags) if stat.S_ISREG(told.st_mode) else None
        except OSError:  # OpenCV meets it as well
            later = None
        if later is not None:
            return later
    return _left(original(*_arrays.real(args), **_arrays.real(kwargs)))


def _imdecode(original: Any, *args: Any, **kwargs: Any) -> Any:
    flags = _flags(args, kwargs)
    data = args[0] if args else None
    plain = type(data) is np.ndarray and data.dtype == np.uint8 and data.size == max(data.shape, default=0)
    if flags is not None and plain and data.flags.c_contiguous and (found := _fetch()):
        later = _waiting(found, io.BytesIO(data), data.size, flags)
        if later is not None:
            return later
    return _left(original(*_arrays.real(args), **_arrays.real(kwargs)))


def _left(array: Any) -> Any:
    """Count a picture that OpenCV has read itself."""
    if type(array) is np.ndarray and array.ndim >= 2 and recording():
        _share.left(array.shape[1::-1], _pictures.Recording.asking)
    return array


def _flags(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int | None:
    """The flags of a plain call; None: of another one."""
    if not 1 <= len(args) <= 2 or kwargs.keys() > {"flags"} or len(args) == 2 and kwargs:
        return None
    flags = args[1] if len(args) == 2 else kwargs.get("flags", _COLOR)
    return int(flags) if type(flags) is int else None


def _fetch() -> _pictures.Recording | None:
    """The recording, where files that OpenCV reads may wait."""
    found = recording()
    waits = found is not None and found.trusts and _arrays.may_wait(found) and found.tally.worth()
    return found if waits and checked and not _limited() else None


@functools.lru_cache(1)
def _limited() -> bool:
    """Whether OpenCV reads less than usual."""
    return any(name.startswith("OPENCV_IO") for name in os.environ)


def _waiting(found: _pictures.Recording, file: Any, size: int, flags: int) -> LaterArray | None:
    """The array of a file that is read from now on; None: it is left to OpenCV."""
    if not 0 < size <= _pictures.LARGEST_FILE:
        return None
    files = found.files = found.files or _files.take()
    data = files.read(file, size)
    if len(data) != size:
        return None
    header = _cv_files.header_of(data)
    if header is None or f"OpenCV's {header.format}" in _pictures.left:
        return None
    wanted = _ops_of(header, flags)
    if wanted is None or min(header.size) < 2 or max(header.size) > _LONGEST:
        return None
    mode = header.mode
    if mode == "RGB" and flags in (_GRAY, _GRAY | _IGNORE):
        mode = "Y"
    found.newest = source = CvSource(data, header.format, mode, header.size)
    files.keep(source)
    found.tally.opened += 1
    found.waited = True
    return _arrays.later_of(_bands.plan_of(with_ops(Recipe(source, (), mode.replace("Y", "L"), header.size), wanted)))


def _ops_of(header: _cv_files.Header, flags: int) -> list[tuple[Any, ...]] | None:
    """What is done to a decoded file, by OpenCV's flags; None: another thing."""
    ops: list[tuple[Any, ...]] = []
    if flags != _UNCHANGED and not flags & _IGNORE and header.turn is not None:
        ops.append(("transpose", header.turn))
    wanted = flags if flags == _UNCHANGED else flags & ~_IGNORE
    if wanted == _GRAY and header.mode == "RGB":
        return ops if header.format == "JPEG" and GREY not in _pictures.left else None
    if wanted == _GRAY or wanted == _UNCHANGED and header.mode == "L":
        return ops
    if wanted not in (_UNCHANGED, _COLOR) and (wanted != _RGB or not hasattr(sys.modules["cv2"], "IMREAD_COLOR_RGB")):
        return None
    if header.mode == "L":
        return [*ops, ("triple",)]
    return ops if wanted == _RGB else [*ops, ("swap",)]


def with_ops(recipe: Recipe, ops: Any) -> Recipe:
    """A recipe with operations that take no other arguments, or a turn."""
    for op, *arguments in ops:
        if op == "transpose":
            recipe = recipe.transpose(*arguments)
        elif op == "triple":
            recipe = recipe.convert("RGB")
        else:
            recipe = recipe.then(op, *arguments, mode="L" if op == "cv_gray" else None)
    return recipe


# Operations.


def _on_bytes(made: Callable[..., Recipe | None]) -> Handler:
    """A function of bytes: `made` gives its recipe from that of its first argument and the others; None, or what is
    not among its parameters: it gets real arrays."""

    def handle(original: Any, *args: Any, **kwargs: Any) -> Any:
        recipe = _recipe_of(args[0]) if args and kwargs.get("dst") is None else None
        if recipe is not None:
            rest = {key: value for key, value in kwargs.items() if key != "dst"}
            try:
                after = made(recipe, *args[1:], **rest)
            except TypeError:  # in a way that is not known here
                after = None
            if after is not None and min(after.size) >= 2:
                return _arrays.later_of(_bands.plan_of(after))
        return _arrays.same(original, *args, **kwargs)

    return handle


def _recipe_of(value: Any) -> Recipe | None:
    return _bands.bytes_of(value.cell.plan) if checked and _arrays.waits(value) else None


def _looked_up(original: Any, *args: Any, **kwargs: Any) -> Any:
    table = args[1] if len(args) == 2 and not kwargs else None
    if type(table) is np.ndarray and table.shape == (256,) and _arrays.waits(args[0]):
        plan = _bands.made(args[0].cell.plan, call_of(original, (table,), {}), table.dtype)
        if plan is not None:
            return _arrays.later_of(plan)
    return _arrays.elementwise(original, *args, **kwargs)


def _reckoned(original: Any, *args: Any, **kwargs: Any) -> Any:
    """Arithmetic with a number, or with one for each band, which gives numbers of the same type."""
    later, other, into = args if len(args) == 3 else (*args, kwargs.get("dst")) if len(args) == 2 else (None, None, None)
    plain = len(args) + len(kwargs) <= 3 and not kwargs.keys() - {"dst"}
    if plain and _arrays.waits(later) and _is_scalar(other, later):
        plan = _bands.made(later.cell.plan, call_of(original, (other,), {}), later.dtype)
        if plan is not None and into is None:
            return _arrays.later_of(plan)
        if plan is not None and into is later and plan.look == later.cell.plan.look and later.cell.change(plan):
            return later
    return _arrays.elementwise(original, *args, **kwargs)


def _is_scalar(other: Any, later: LaterArray) -> bool:
    """Whether OpenCV takes it for one number to each band, as its Scalar: albumentations 1.3 normalises so."""
    of_bands = type(other) is np.ndarray and other.dtype == np.float64 and other.shape == (4,)
    return type(other) in (int, float) or of_bands and later.dtype == np.float32 and later.shape[2:] == (3,)


def _split(original: Any, *args: Any, **kwargs: Any) -> Any:
    recipe = _recipe_of(args[0]) if len(args) == 1 and not kwargs else None
    if recipe is None or not _bands.has_bands(recipe):
        return _arrays.same(original, *args, **kwargs)
    bands = [recipe.then("band", number, mode="L") for number in range(3)]
    return tuple(_arrays.later_of(_bands.plan_of(band)) for band in bands)


def _merge(original: Any, *args: Any, **kwargs: Any) -> Any:
    parts = args[0] if len(args) == 1 and not kwargs else None
    if checked and type(parts) in (tuple, list) and parts and all(map(_arrays.waits, parts)):
        plan = _bands.merged([part.cell.plan for part in parts], original)
        if plan is not None:
            return _arrays.later_of(plan)
    return _arrays.same(original, *args, **kwargs)


def _converted(recipe: Recipe, code: Any) -> Recipe | None:
    names = _BGR_OF.get(code) if type(code) is int else None
    wanted = "L" if names == ("triple",) else "RGB"
    if names is None or recipe.mode != wanted or any(NAMES.get(name) in _pictures.left for name in names):
        return None
    return with_ops(recipe, [(name,) for name in names])


def _flipped(recipe: Recipe, flipCode: Any) -> Recipe | None:
    return recipe.transpose(_FLIPS[(flipCode > 0) - (flipCode < 0)]) if type(flipCode) is int else None


def _rotated(recipe: Recipe, rotateCode: Any) -> Recipe | None:
    return recipe.transpose(_TURNS[rotateCode]) if type(rotateCode) is int and rotateCode in _TURNS else None


def _resized(recipe: Recipe, dsize: Any, *, fx: Any = 0, fy: Any = 0, interpolation: Any = 1) -> Recipe | None:
    sides = _sides_of(dsize)
    kind = _INTERPOLATIONS.get(interpolation) if type(interpolation) is int else None
    plain = type(fx) in (int, float) and type(fy) in (int, float)
    if sides is None or kind is None or not plain or RESIZE + kind in _pictures.left:
        return None
    if kind == "area" and any(after > before for after, before in zip(sides, recipe.size)):
        return None
    if kind == "cubic" and min(recipe.size) < _LEAST_CUBIC:
        return None
    if WHOLE in _pictures.left and all(op[0] != "crop" for op in recipe.ops):
        return None
    return recipe.then("cv_resize", *sides, interpolation, size=sides)


def _bordered(
    recipe: Recipe, top: Any, bottom: Any, left: Any, right: Any, borderType: Any, *, value: Any = 0
) -> Recipe | None:
    sides = whole((left, top, right, bottom))
    if sides is None or not all(0 <= side < 1 << 12 for side in sides) or type(borderType) is not int:
        return None
    left, top, right, bottom = sides
    (width, height), kind = recipe.size, _SIDES.get(borderType)
    size = width + left + right, height + top + bottom
    if borderType == 0:
        fill = scalar(value, recipe.bands)
        return None if fill is None else recipe.then("expand", *sides, fill, size=size)
    if kind is None or kind != "edge" and (max(left, right) >= width or max(top, bottom) >= height):
        return None
    return recipe.then("pad", kind, *sides, size=size)


def _warped(
    recipe: Recipe, M: Any, dsize: Any, *, flags: Any = 1, borderMode: Any = 0, borderValue: Any = 0
) -> Recipe | None:
    if AFFINE in _pictures.left or not _is_matrix(M, (2, 3)) or type(flags) is not int:
        return None
    rows = M.astype(np.float64).ravel().tolist()
    return _turned_by(recipe, "cv_affine", rows if flags & _INVERSE else inverse(rows), dsize, flags, borderMode, borderValue)


def _projected(
    recipe: Recipe, M: Any, dsize: Any, *, flags: Any = 1, borderMode: Any = 0, borderValue: Any = 0
) -> Recipe | None:
    if PERSPECTIVE in _pictures.left or not _is_matrix(M, (3, 3)) or type(flags) is not int:
        return None
    back = M.astype(np.float64)
    if not flags & _INVERSE:
        there, back = _original("invert")(back)
        if not there:
            return None
    return _turned_by(recipe, "cv_perspective", back.ravel().tolist(), dsize, flags, borderMode, borderValue)


def _is_matrix(value: Any, shape: tuple[int, int]) -> bool:
    plain = type(value) is np.ndarray and value.shape == shape and value.dtype in (np.float32, np.float64)
    return plain and bool(np.isfinite(value).all())


def _turned_by(
    recipe: Recipe, name: str, numbers: list[float], dsize: Any, flags: int, border: Any, value: Any
) -> Recipe | None:
    """A warp by the inverse matrix."""
    sides, fill = _sides_of(dsize), scalar(value, recipe.bands)
    if sides is None or fill is None or flags & ~_INVERSE != 1 or type(border) is not int or border not in (0, *_SIDES):
        return None
    return recipe.then(name, *sides, numbers, border, fill, size=sides)


_INVERSE = 16  # cv2.WARP_INVERSE_MAP


def inverse(m: list[float]) -> list[float]:
    """A matrix turned around as OpenCV does it."""
    d = m[0] * m[4] - m[1] * m[3]
    d = 1 / d if d != 0 else 0.0
    a, b, c, e = m[4] * d, m[1] * -d, m[3] * -d, m[0] * d
    return [a, b, -a * m[2] - b * m[5], c, e, -c * m[2] - e * m[5]]


def _blurred(
    recipe: Recipe, ksize: Any, sigmaX: Any, dst: Any = None, sigmaY: Any = 0, borderType: Any = 4
) -> Recipe | None:
    sizes = whole(ksize) if type(ksize) in (tuple, list) and len(ksize) == 2 else None
    sigmas = _numbers((sigmaX, sigmaY))
    if dst is not None or sizes is None or sigmas is None or BLUR in _pictures.left:
        return None
    if type(borderType) is not int or borderType not in (0, *_SIDES):
        return None
    x, y = sigmas[0], sigmas[1] if sigmas[1] > 0 else sigmas[0]
    width, height = (round(sigma * 6 + 1) | 1 if size == 0 < sigma else size for size, sigma in zip(sizes, (x, y)))
    if not all(0 < size <= _MOST_TAPS and size % 2 for size in (width, height)):
        return None
    return recipe.then("cv_blur", taps(width, x), taps(height, y), borderType, [width, height, x, y])


@functools.lru_cache(256)
def taps(size: int, sigma: float) -> list[int]:
    """The weights of a blur of bytes in 256ths, as OpenCV rounds them: each takes over what is left of the one before."""
    exact = _original("getGaussianKernel")(size, sigma, 6).ravel().tolist()  # 6: CV_64F
    left: list[int] = []
    rest = 0.0
    for weight in exact[: size // 2]:
        rest += weight * 256
        left.append(round(rest))
        rest -= left[-1]
    return [*left, 256 - 2 * sum(left), *left[::-1]]


def _numbers(values: Any) -> list[float] | None:
    """The values where all are numbers that are not large."""
    if not all(isinstance(each, (int, float)) and type(each) is not bool and abs(each) < _HEAVIEST for each in values):
        return None
    return [float(each) for each in values]


def _weighed(original: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        after = _sum_of(*args, **kwargs)
    except TypeError:  # in a way that is not known here
        after = None
    return _arrays.same(original, *args, **kwargs) if after is None else _arrays.later_of(_bands.plan_of(after))


def _sum_of(src1: Any, alpha: Any, src2: Any, beta: Any, gamma: Any, dst: Any = None) -> Recipe | None:
    """The sum of two pictures that come of the same one; None where they do not."""
    numbers, first, second = _numbers((alpha, beta, gamma)), _recipe_of(src1), _recipe_of(src2)
    if numbers is None or first is None or second is None or dst is not None or WEIGHTED in _pictures.left:
        return None
    if first.source is not second.source or (first.mode, first.size) != (second.mode, second.size):
        return None
    pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first.ops, second.ops))
    common = sum(1 for _ in pairs)
    one, other = first.ops[common:], second.ops[common:]
    if any(op[0] == "cv_weigh" for op in (*one, *other)):
        return None
    return Recipe(first.source, (*first.ops[:common], ("cv_weigh", *numbers, one, other)), first.mode, first.size)


def _sides_of(dsize: Any) -> tuple[int, int] | None:
    """A width and a height; None where it is another thing."""
    sides = whole(dsize) if type(dsize) in (tuple, list) and len(dsize) == 2 else None
    return None if sides is None or not all(0 < side < _LONGEST for side in sides) else (sides[0], sides[1])


def scalar(value: Any, bands: int) -> list[int] | None:
    """A scalar of OpenCV's as bytes: what is not given of it is 0."""
    if isinstance(value, np.ndarray) and type(value) is np.ndarray and value.size <= 4:
        value = value.ravel().tolist()
    numbers = list(value) if type(value) in (tuple, list) else [value]
    if not 1 <= len(numbers) <= 4 or not all(isinstance(each, (int, float, np.generic)) for each in numbers):
        return None
    if not all(0 <= each <= 255 and each == int(each) for each in numbers):
        return None
    return ([int(each) for each in numbers] + [0, 0, 0])[:bands]


def whole(values: Any) -> list[int] | None:
    """The values where all are whole numbers."""
    if not all(isinstance(each, (int, np.integer)) and type(each) is not bool for each in values):
        return None
    return [int(each) for each in values]


_HANDLERS: dict[str, Handler] = {
    "imread": _imread,
    "imdecode": _imdecode,
    "cvtColor": _on_bytes(_converted),
    "flip": _on_bytes(_flipped),
    "rotate": _on_bytes(_rotated),
    "transpose": _on_bytes(lambda recipe: recipe.transpose(5)),
    "resize": _on_bytes(_resized),
    "warpAffine": _on_bytes(_warped),
    "warpPerspective": _on_bytes(_projected),
    "GaussianBlur": _on_bytes(_blurred),
    "addWeighted": _weighed,
    "copyMakeBorder": _on_bytes(_bordered),
    "split": _split,
    "merge": _merge,
    "LUT": _looked_up,
    **dict.fromkeys(("add", "subtract", "multiply"), _reckoned),
}
_arrays.HANDLERS.update(_HANDLERS)
_arrays.LIBRARIES.update(albucore=(_albucore.is_there, _albucore.install))


# Making: by OpenCV itself.


def _of_array(name: str, *rest: Any) -> Callable[..., Any]:
    def make(image: Any, *arguments: Any) -> Any:
        from PIL import Image

        return Image.fromarray(np.ascontiguousarray(_original(name)(np.array(image), *rest, *arguments)))

    return make


def _swapped(image: Any) -> Any:
    from PIL import Image

    return Image.merge("RGB", image.split()[::-1])


def _sized(image: Any, width: int, height: int, interpolation: int) -> Any:
    from PIL import Image

    return Image.fromarray(_original("resize")(np.array(image), (width, height), interpolation=interpolation))


def _warp_by(name: str) -> Callable[..., Any]:
    def make(image: Any, width: int, height: int, numbers: list[float], border: int, fill: list[int]) -> Any:
        from PIL import Image

        matrix = np.array(numbers, np.float64).reshape(-1, 3)
        return Image.fromarray(
            _original(name)(
                np.array(image), matrix, (width, height), flags=1 | _INVERSE, borderMode=border, borderValue=fill
            )
        )

    return make


def _smoothed(image: Any, across: list[int], down: list[int], border: int, asked: list[Any]) -> Any:
    from PIL import Image

    width, height, x, y = asked
    return Image.fromarray(_original("GaussianBlur")(np.array(image), (width, height), x, sigmaY=y, borderType=border))


def _summed(image: Any, alpha: float, beta: float, gamma: float, one: Any, other: Any) -> Any:
    from PIL import Image

    first, second = (np.array(_pictures.with_ops(image, ops)) for ops in (one, other))
    return Image.fromarray(_original("addWeighted")(first, alpha, second, beta, gamma))


def _tabled(image: Any, text: str) -> Any:
    return image.point(list(base64.b64decode(text)))


_pictures.MAKERS.update(
    lut=_tabled,
    swap=_swapped,
    band=lambda image, band: image.getchannel(band),
    cv_gray=_of_array("cvtColor", 7),
    cv_hsv=_of_array("cvtColor", 41),
    cv_unhsv=_of_array("cvtColor", 55),
    cv_lab=_of_array("cvtColor", 45),
    cv_unlab=_of_array("cvtColor", 57),
    cv_blur=_smoothed,
    cv_weigh=_summed,
    cv_resize=_sized,
    cv_affine=_warp_by("warpAffine"),
    cv_perspective=_warp_by("warpPerspective"),
)
