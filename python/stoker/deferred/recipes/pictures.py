"""Pictures that are made later: Pillow's own objects, of which only the header was read.

While a DataLoader fetches, a JPEG that Pillow would decode gets a `Recipe` in place of its core image
(`Image._im`): the file's bytes, and what was asked of them since. All of Pillow's Python runs as ever, checks and
copies of `info` included; it calls the recipe where it would call the core, as long as that call is one of the few
below. Whatever else asks for the core (`Image.im`: drawing, saving, pixels, NumPy, a C extension) gets the real one,
made there and then by Pillow.

So types, attributes and errors are Pillow's, a copy or a pickle is a real picture, and what a program puts in the
place of a method of Pillow's is called. Nothing here runs in threads but the one that fetches.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import operator
import os
import sys
import threading
import types
import weakref
from collections.abc import Callable, Container, Iterable
from typing import Any

from ...daemon import files as _files
from . import headers, jpeg, share, standins
from .standins import is_own, replace

Op = tuple[Any, ...]  # name and arguments, of what JSON has

#: Operations, kinds of file and types of numbers that the daemon makes otherwise than the installed libraries do:
#: these are left to them. trust.py fills it before anything waits.
left: set[str] = set()
BANDS = {"L": 1, "P": 1, "LA": 2, "RGB": 3, "RGBA": 4}
_PLAIN = {"L", "RGB"}  # of which everything below is recorded; of the others copies, parts, turns and conversions
_CONVERSIONS = {*itertools.permutations(("L", "LA", "RGB", "RGBA"), 2), ("P", "L"), ("P", "RGB")}
_FILTERS = range(6)  # of Image.Resampling: what Pillow had before 13
PIXELS = "the pixels of a picture"  # what may be asked for
_LIMIT = 1 << 24  # of sides and coordinates, so that nothing overflows
LARGEST_FILE = 64 << 20  # bytes
lock = threading.RLock()  # one in a forked child is its own


class Tally:
    """What became of the pictures that one data set has opened in this process."""

    def __init__(self, account: Any = None) -> None:
        self.account = account  # of the data set, with the other processes
        self.opened = 0  # pictures
        self.told = 0  # of them, to the account


_thread = threading.local()
_under_way: set[Recording] = set()


class _Now(type):
    @property
    def now(cls) -> Recording | None:
        """This thread's."""
        return getattr(_thread, "recording", None)

    @now.setter
    def now(cls, recording: Recording | None) -> None:
        _under_way.discard(cls.now)
        _thread.recording = recording
        if recording is not None:
            _under_way.add(recording)

    @now.deleter
    def now(cls) -> None:
        cls.now = None


class Recording(metaclass=_Now):
    """What a thread that fetches has begun to make; nothing is recorded while it has none."""

    needed: Callable[[str], None] = staticmethod(lambda what: None)  # is told what had to be made at once
    asking: Callable[[], str] = staticmethod(str)  # says which line of the program is at work

    def __init__(self, tally: Tally, tensors: bool = True) -> None:
        self.tensors = tensors  # they may wait
        self.stream = False  # of a loader's own iterator, which goes on where it was
        self.gathered = False  # all of its samples are there
        self.tally = tally
        self.newest: Source | None = None
        self.drawn: Any = None  # memory for what is drawn by chance
        self.markers: bool | None = None  # whether Pillow reads those of JPEGs as it did; None: not yet looked at
        self.composes: bool | None = None  # whether torchvision's transforms do what they did; None: the same
        self.opens: dict[Any, bool] = {}  # and what stands for functions that open files, by that
        self.files: _files.Files | None = None  # what was read
        self.recipes: list[weakref.ref[Recipe]] = []
        self.laters: list[weakref.ref[Any]] = []  # tensors that wait

    @property
    def used(self) -> bool:
        """Whether there was something to record."""
        return self.newest is not None


def _forking() -> None:
    """Before a fork: what a child would see of the fetches under way, the parent writes anew."""
    for found in list(_under_way):
        if found.files is not None:
            found.files.part()


def _forked() -> None:
    """In a forked child: a thread of the parent's may hold the lock, and the fetches under way are the parent's."""
    global lock
    lock = threading.RLock()
    _under_way.clear()
    Recording.now = None


os.register_at_fork(before=_forking, after_in_child=_forked)


def recording() -> Recording | None:
    """The recording of this thread."""
    return getattr(_thread, "recording", None)


class Source:
    """A file's bytes, and what its header says."""

    __slots__ = ("data", "mode", "size", "begun", "files", "at", "went", "__weakref__")

    def __init__(self, data: bytes | memoryview, mode: str, size: tuple[int, int]) -> None:
        self.data, self.mode, self.size = data, mode, size
        self.begun: list[_Begun] = []  # what pictures that Pillow made of it began with
        self.files: _files.Files | None = None  # where data lies, at a place
        self.at = 0
        self.went = -1  # nowhere yet; what share counts it as

    def decode(self) -> Any:
        """Pillow's core image of it, without what was patched; what a header is warned of has been said."""
        from PIL import Image

        return Image.frombytes(self.mode, self.size, self.data, "jpeg", self.mode, "").im


class _Begun:
    """Operations that several pictures of a file begin with; what they make is kept from the second picture on."""

    __slots__ = ("ops", "uses", "core")

    def __init__(self, ops: tuple[Op, ...]) -> None:
        self.ops, self.uses, self.core = ops, 0, None

    def is_of(self, ops: tuple[Op, ...]) -> bool:
        return len(ops) == len(self.ops) and all(map(operator.is_, ops, self.ops))


_weakly = weakref.ref


class Recipe:
    """Stands where Pillow has the core image. Never changes but for being made; each image has one of its own."""

    __slots__ = ("source", "ops", "mode", "size", "value", "late", "__weakref__")
    readonly = 0  # Pillow asks that of the core

    def __init__(self, source: Source, ops: tuple[Op, ...], mode: str, size: tuple[int, int]) -> None:
        self.source, self.ops, self.mode, self.size = source, ops, mode, size
        self.value: Any = None  # the real core, once made
        self.late = False  # its fetch has ended: it is made when somebody asks
        if found := getattr(_thread, "recording", None):
            found.recipes.append(_weakly(self))

    @property
    def bands(self) -> int:
        return BANDS.get(self.mode, 1)

    def then(self, *op: Any, mode: str | None = None, size: tuple[int, int] | None = None) -> Recipe:
        after = Recipe(self.source, (*self.ops, op), mode or self.mode, size or self.size)
        if op[0] in left:
            share.because(share.PILLOW, f"such as {op[0]}, which is Pillow's here")
            after.make()
        return after

    def make(self) -> Any:
        """The real core; from here on it stands for the recipe."""
        with lock:
            if self.value is None:
                share.went(self.source, share.PILLOW)
                self.value = by_pillow(self.source, self.ops)
            return self.value

    def __getattr__(self, name: str) -> Any:  # what is not below, or does not fit
        return getattr(self.make(), name)

    # The methods of Pillow's core that are recorded, with arguments that leave no doubt.

    def copy(self) -> Recipe:
        return Recipe(self.source, self.ops, self.mode, self.size)

    def convert(self, mode: str, *dither: Any) -> Any:
        if (self.mode, mode) in _CONVERSIONS:
            return self.then("convert", mode, mode=mode)
        return self.make().convert(mode, *dither)

    def crop(self, box: tuple[int, int, int, int]) -> Any:
        left, top, right, bottom = box
        if right > left and bottom > top and max(map(abs, box)) < _LIMIT:
            return self.then("crop", *box, size=(right - left, bottom - top))
        return self.make().crop(box)

    def resize(self, size: tuple[int, int], resample: int, box: tuple[float, ...]) -> Any:
        if box == (0, 0, *self.size) and type(size) is tuple and len(size) == 2:  # as it mostly is
            width, height = size
            sides = type(width) is type(height) is int and 0 < width < _LIMIT and 0 < height < _LIMIT
            if sides and isinstance(resample, int) and type(resample) is not bool and 0 <= resample < len(_FILTERS):
                return self.then("resize", width, height, int(resample), None, size=size)
        numbers = _integers(size), _integers((resample,)), _floats(box)
        if all(numbers) and len(numbers[0]) == 2 and len(box) == 4:
            (width, height), (kind,), (left, top, right, bottom) = numbers
            inside = 0 <= left < right <= self.size[0] and 0 <= top < bottom <= self.size[1]
            if inside and 0 < width < _LIMIT and 0 < height < _LIMIT and kind in _FILTERS:
                whole = (left, top, right, bottom) == (0, 0, *self.size)
                return self.then("resize", width, height, kind, None if whole else numbers[2], size=(width, height))
        return self.make().resize(size, resample, box)

    def reduce(self, factor: tuple[int, int], box: tuple[int, int, int, int]) -> Any:
        numbers, edges = _integers(factor), _integers(box)
        if (
            self.mode in _PLAIN
            and len(numbers) == 2
            and len(edges) == 4
            and all(0 < number < _LIMIT for number in numbers)
        ):
            (x, y), (left, top, right, bottom) = numbers, edges
            if 0 <= left < right <= self.size[0] and 0 <= top < bottom <= self.size[1]:
                return self.then("reduce", x, y, edges, size=(-(-(right - left) // x), -(-(bottom - top) // y)))
        return self.make().reduce(factor, box)

    def transpose(self, method: int) -> Any:
        if type(method) is not bool and method in range(7):
            turned = method in (2, 4, 5, 6)
            return self.then("transpose", int(method), size=self.size[::-1] if turned else self.size)
        return self.make().transpose(method)

    def point(self, table: list[int], mode: str | None) -> Any:
        if len(table) == 256 * self.bands and mode in (None, self.mode):
            try:
                return self.then("point", list(bytes(table)))
            except ValueError:  # some are below 0 or above 255
                if all(type(value) is int for value in table):
                    return self.then("point", [min(max(value, 0), 255) for value in table])
            except TypeError:
                pass
        return self.make().point(table, mode)

    def gaussian_blur(self, radius: tuple[float, float], *passes: Any) -> Any:
        radii = _floats((radius, radius) if type(radius) in (int, float) else radius)  # Pillow 10 has one number
        if self.mode != "P" and not passes and radii and len(radii) == 2 and all(0 <= r < 1000 for r in radii):
            return self.then("gaussian_blur", *radii)
        return self.make().gaussian_blur(radius, *passes)


class Canvas:
    """Stands where Pillow has the core image of a new picture of one colour, until somebody asks for it."""

    __slots__ = ("mode", "size", "fill")
    readonly = 0

    def __init__(self, mode: str, size: tuple[int, int], fill: list[int]) -> None:
        self.mode, self.size, self.fill = mode, size, fill
        _Undo.images = True

    def make(self) -> Any:
        """The real core."""
        return sys.modules["PIL.Image"].core.fill(self.mode, self.size, _colour(self.fill))


def _integers(values: Any) -> list[int]:
    """The values where all are integers, else none."""
    if {*map(type, values)} == {int}:
        return list(values)
    return (
        [int(value) for value in values]
        if all(hasattr(value, "__index__") and type(value) is not bool for value in values)
        else []
    )


def _floats(values: Any) -> list[float]:
    try:
        numbers = [value if type(value) in (int, float) else float(value) for value in values]
    except (TypeError, ValueError):
        return []
    return numbers if all(abs(number) < _LIMIT for number in numbers) else []


def deferred(image: Any, modes: Container[str] = _PLAIN) -> Recipe | None:
    """The recipe of an image that has not been made, where it may be recorded on."""
    recipe = getattr(image, "_im", None)
    if recipe is None:
        recipe = _defer(image)
    if type(recipe) is not Recipe or recipe.value is not None or recipe.mode not in modes:
        return None
    if not getattr(_thread, "recording", None):
        return None
    if recipe.late:  # a program that keeps pictures would have each fetch decode them
        recipe.make()
        return None
    return recipe


def _defer(image: Any) -> Recipe | None:
    """Read a file that Pillow would decode now, as it would be read; None: it is left to Pillow."""
    found = recording()
    if found is None or getattr(image, "format", None) != "JPEG" or not _is_untouched(image):
        return None
    file, mode, sides = image.fp, image.mode, image.size
    try:
        files = found.files = found.files or _files.take()
        at, size = file.tell(), file.seek(0, 2)
        file.seek(0)
        # With its size, as read() is dear to who asks for much more than there is.
        data = files.read(file, size) if size <= LARGEST_FILE else b""
        whole = type(data) in (bytes, memoryview) and len(data) == size
        end = _end_of_reading(data, at, image.decodermaxblock) if whole else 0
        if end != size or not size:  # which is where reading has ended
            file.seek(end or at)
        if not end:
            return None
    except (OSError, ValueError, AttributeError):
        return None  # Pillow meets it as well
    found.newest = source = Source(data, mode, sides)
    files.keep(source)
    found.tally.opened += 1
    image._im = Recipe(source, (), mode, sides)
    if not _Undo.images:
        _Undo.images = True
    image.tile, image.map, image.readonly = [], None, 0
    if image._exclusive_fp and image._close_exclusive_fp_after_loading:
        file.close()
    image.fp = None
    return image._im


def _is_untouched(image: Any) -> bool:
    """Whether a JPEG is an opened file as Pillow left it: not loaded, no draft, nothing replaced."""
    if type(image) is not sys.modules["PIL.JpegImagePlugin"].JpegImageFile or "JPEG" in left:
        return False
    if image._im is not None or image.fp is None:
        return False
    mode, size = image.mode, image.size
    if len(image.tile) != 1 or image.decoderconfig or not _REPLACED.isdisjoint(vars(image)):
        return False
    return mode in _PLAIN and tuple(image.tile[0]) == ("jpeg", (0, 0, *size), 0, (mode, ""))


_REPLACED = {"load", "load_read", "load_prepare", "load_end"}


def _end_of_reading(data: bytes | memoryview, at: int, block: int) -> int:
    """Where Pillow stops reading a file in blocks, whose header it has read up to there; 0: it is left to it."""
    end = jpeg.sound(data, at)
    return min(len(data), -(-end // block) * block)


class _Pixels:
    """What load() returns for a picture that is not made: made at the first touch."""

    def __init__(self, image: Any) -> None:
        self._image = image

    def _real(self) -> Any:
        return self._image.im.pixel_access(self._image.readonly)

    def __getitem__(self, at: Any) -> Any:
        return self._real()[at]

    def __setitem__(self, at: Any, value: Any) -> None:
        self._real()[at] = value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real(), name)


# Making: by Pillow, of a recipe's operations.


def by_pillow(source: Source, ops: tuple[Op, ...]) -> Any:
    """The core image. What is recorded was Pillow's own code, so this is what it would have made.

    A file that is decoded for a second picture stays decoded until its fetch ends, as does what all but the last
    operation make: a program that cuts a picture into tiles asks for each by itself.
    """
    from PIL import Image

    blank = Image.Image()
    with lock:
        core, done = None, 0
        for end in sorted({0, max(len(ops) - 1, 0)}):
            begun = _begun_with(source, ops[:end])
            if begun.core is None and (core is None or begun.uses > 1):
                core = source.decode() if core is None else with_ops(blank._new(core), ops[done:end]).im
                done = end
                begun.core = core if begun.uses > 1 else None
            elif begun.core is not None:
                core, done = begun.core, end
        made = with_ops(blank._new(core), ops[done:]).im
        return made.copy() if any(made is each.core for each in source.begun) else made


def _begun_with(source: Source, ops: tuple[Op, ...]) -> _Begun:
    begun = next((each for each in source.begun if each.is_of(ops)), None)
    if begun is None:
        begun = _Begun(ops)
        source.begun = [*source.begun[-_MOST_BEGUN:], begun]
    begun.uses += 1
    return begun


_MOST_BEGUN = 7  # of a file [J]: the whole picture, and the last ones that parts were taken of


def with_ops(image: Any, ops: Iterable[Op]) -> Any:
    """An image with operations done to it."""
    for name, *arguments in ops:
        image = MAKERS[name](image, *arguments)
    return image


def _transformed(method: int) -> Callable[..., Any]:
    def make(image: Any, width: int, height: int, data: list[float], resample: int, fill: list[int] | None) -> Any:
        return image.transform((width, height), method, data, resample, fillcolor=_colour(fill))

    return make


def _colour(fill: list[int] | None) -> Any:
    return fill and (fill[0] if len(fill) == 1 else tuple(fill))


def _enhanced(kind: str) -> Callable[..., Any]:
    def make(image: Any, factor: float) -> Any:
        from PIL import ImageEnhance

        return getattr(ImageEnhance, kind)(image).enhance(factor)

    return make


def _operated(kind: str) -> Callable[..., Any]:
    def make(image: Any, *arguments: Any) -> Any:
        from PIL import ImageOps

        return getattr(ImageOps, kind)(image, *arguments)

    return make


def _hue(image: Any, shift: int) -> Any:
    from PIL import Image

    h, s, v = image.convert("HSV").split()
    return Image.merge("HSV", (h.point([(value + shift) & 255 for value in range(256)]), s, v)).convert("RGB")


def _padded(image: Any, kind: str, left: int, top: int, right: int, bottom: int) -> Any:
    import numpy as np
    from PIL import Image

    array = np.asarray(image)
    return Image.fromarray(np.pad(array, ((top, bottom), (left, right), (0, 0))[: array.ndim], kind))


def _blurred(image: Any, x: float, y: float) -> Any:
    try:
        return image._new(image.im.gaussian_blur((x, y)))
    except TypeError:  # Pillow 10, which has one number
        return image._new(image.im.gaussian_blur(x))


MAKERS: dict[str, Callable[..., Any]] = {
    "convert": lambda image, mode: image.convert(mode),
    "crop": lambda image, *box: image._new(image.im.crop(box)),
    "resize": lambda image, w, h, kind, box: image._new(
        image.im.resize((w, h), kind, tuple(box or (0, 0, *image.size)))
    ),
    "reduce": lambda image, x, y, box: image._new(image.im.reduce((x, y), tuple(box))),
    "transpose": lambda image, method: image._new(image.im.transpose(method)),
    "affine": _transformed(0),
    "perspective": _transformed(2),
    "point": lambda image, table: image.point(table),
    "brightness": _enhanced("Brightness"),
    "color": _enhanced("Color"),
    "contrast": _enhanced("Contrast"),
    "sharpness": _enhanced("Sharpness"),
    "autocontrast": lambda image, low, high: _operated("autocontrast")(image, (low, high)),
    "equalize": _operated("equalize"),
    "posterize": _operated("posterize"),
    "solarize": _operated("solarize"),
    "invert": _operated("invert"),
    "hue": _hue,
    "gaussian_blur": _blurred,
    "pad": _padded,
    "expand": lambda image, left, top, right, bottom, fill: _operated("expand")(
        image, (left, top, right, bottom), _colour(fill)
    ),
}


# Putting it in place.


def there() -> bool:
    """Whether the program has imported what reads pictures. OpenCV's are described with Pillow, where that is there."""
    if "PIL.Image" in sys.modules:
        return True
    if "cv2" not in sys.modules or importlib.util.find_spec("PIL") is None:
        return False
    importlib.import_module("PIL.Image")
    return True


_load_file: Callable[[Any], Any] | None = None  # ImageFile.load of Pillow itself, once something is in its place


def install() -> bool:
    """Put it in place in this process where Pillow has what it takes; once. False: pictures stay real."""
    global _load_file
    from PIL import Image, ImageFile, JpegImagePlugin

    if _Undo.installed:
        return True
    if "im" not in vars(Image.Image):
        _make_core_a_property(Image.Image)
    known = isinstance(vars(Image.Image)["im"], property)
    if not known or not is_own(Image.Image.load, Image) or not is_own(ImageFile.ImageFile.load, ImageFile):
        return False
    _load_file = ImageFile.ImageFile.load
    put(Image.Image, "im", property(_core_in_place_of(Image.Image.im.fget), Image.Image.im.fset), lasting=True)
    put(Image.Image, "load", _load_in_place_of(Image.Image.load))
    put(ImageFile.ImageFile, "load", _load_file_in_place_of(_load_file))
    if is_own(JpegImagePlugin.JpegImageFile._open, JpegImagePlugin):
        put(JpegImagePlugin.JpegImageFile, "_open", headers.read_again(JpegImagePlugin.JpegImageFile._open, recording))
    for name in ("copy", "__copy__", "convert", "crop", "reduce", "resize", "thumbnail", "transpose"):
        if is_own(method := getattr(Image.Image, name), Image):
            _callers.add(method.__code__)
    wraps = {"point": _point_in_place_of, "transform": _transform_in_place_of, "filter": _filter_in_place_of}
    for name, wrap in wraps.items():
        if is_own(method := getattr(Image.Image, name), Image):
            put(Image.Image, name, wrap(method))
    _install_operations()
    _Undo.installed = True
    return True


class _Undo:
    """What takes away again what is in place."""

    installed = False
    images = False  # one has waited
    steps: list[Callable[[], None]] = []
    lasting: dict[tuple[Any, str], Callable[[], None]] = {}  # those that stay where an image has waited


def undoing(undo: Callable[[], None]) -> None:
    """Have something done when all is taken away."""
    _Undo.steps.append(undo)


def put(owner: Any, name: str, value: Any, lasting: bool = False) -> None:
    """Have an attribute of Pillow's be ours."""
    if (owner, name) in _Undo.lasting:
        return
    before = vars(owner).get(name, _Undo)

    def undo() -> None:
        if vars(owner).get(name) is not value:
            return  # somebody has put something else there
        if before is _Undo:
            delattr(owner, name)
        else:
            setattr(owner, name, before)

    setattr(owner, name, value)
    if lasting:
        _Undo.lasting[owner, name] = undo
    else:
        undoing(undo)


def uninstall() -> None:
    """Take it all away again, but for what images need that have waited. No fetch is under way."""
    steps, _Undo.steps, _Undo.installed = _Undo.steps, [], False
    if not _Undo.images:
        steps += _Undo.lasting.values()
        _Undo.lasting.clear()
    for undo in reversed(steps):
        undo()
    standins.clear()


def like(original: Any) -> Callable[[Any], Any]:
    """A wrapper that calls itself as the original does."""
    return functools.wraps(original)


def _make_core_a_property(kind: Any) -> None:
    """Pillow 10 has the core image as a plain attribute. Images that were there before keep it as that."""

    def core(self: Any) -> Any:
        return vars(self).get("im") if self._im is None else self._im

    def put(self: Any, core: Any) -> None:
        vars(self).pop("im", None)
        self._im = core

    kind._im, kind.im = None, property(core, put)


def version() -> int:
    """The major version of the Pillow in use."""
    return int(sys.modules["PIL.Image"].__version__.split(".")[0])


def _core_in_place_of(original: Any) -> Any:
    @like(original)
    def im(self: Any) -> Any:
        recipe = self._im
        if type(recipe) is not Recipe:
            if type(recipe) is Canvas:
                with lock:
                    if self._im is recipe:
                        self._im = recipe.make()
            return original(self)
        if recipe.value is None and not recipe.late and getattr(_thread, "recording", None):
            if _caller(1).f_code in _callers or getattr(_thread, "lent", None) is recipe:
                return recipe
            Recording.needed(PIXELS)
        self._im = recipe.make()
        return self._im

    return im


_caller = sys._getframe
_callers: set[types.CodeType] = set()  # of Pillow's methods that use the core only to call it: they get the recipe


def lent_to(codes: Iterable[types.CodeType]) -> bool:
    """Whether these are all of such methods."""
    return _callers.issuperset(codes)


def _load_in_place_of(original: Any) -> Any:
    @like(original)
    def load(self: Any) -> Any:
        recipe = self._im
        return _Pixels(self) if type(recipe) is Recipe and recipe.value is None else original(self)

    return load


def _load_file_in_place_of(original: Any) -> Any:
    @like(original)
    def load(self: Any) -> Any:
        if deferred(self, BANDS):
            return _Pixels(self)
        if self.tile:
            share.loaded(self, Recording.asking if recording() else None)
        return original(self)

    return load


def _lending_to(original: Any) -> Any:
    """A method of Pillow's that uses the core only to call it; while it runs it gets the recipe."""

    @like(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        recipe = deferred(self, BANDS)
        if recipe is None:
            return original(self, *args, **kwargs)
        before, _thread.lent = getattr(_thread, "lent", None), recipe
        try:
            return original(self, *args, **kwargs)
        finally:
            _thread.lent = before

    return method


def _point_in_place_of(original: Any) -> Any:
    lending = _lending_to(original)

    @like(original)
    def point(self: Any, lut: Any, mode: Any = None) -> Any:
        if deferred(self) is None or type(lut) not in (list, tuple) and not isinstance(lut, types.FunctionType):
            return original(self, lut, mode)
        if callable(lut):  # the program's own code: not while the recipe is lent
            lut = [lut(value) for value in range(256)] * BANDS[self.mode]
        return lending(self, lut, mode)

    return point


def _transform_in_place_of(original: Any) -> Any:
    @like(original)
    def transform(
        self: Any, size: Any, method: Any, data: Any = None, resample: Any = 0, fill: Any = 1, fillcolor: Any = None
    ) -> Any:
        recipe = deferred(self)
        made = recipe and _transform(recipe, size, method, data, resample, fillcolor)
        return self._new(made) if made else original(self, size, method, data, resample, fill, fillcolor)

    return transform


def _transform(recipe: Recipe, size: Any, method: Any, data: Any, resample: Any, fillcolor: Any) -> Recipe | None:
    from PIL.Image import Transform

    name, count = (
        {Transform.AFFINE: ("affine", 6), Transform.PERSPECTIVE: ("perspective", 8)}.get(method, ("", 0))
        if isinstance(method, int)
        else ("", 0)
    )
    if (
        not name
        or type(size) is not tuple
        or type(data) not in (list, tuple)
        or len(data) < count
        or resample not in (0, 2, 3)
    ):
        return None
    sides, numbers, fill = (
        _integers(size),
        _floats(data[:count]),
        None if fillcolor is None else _fill(fillcolor, recipe.mode),
    )
    if (
        len(sides) != 2
        or not all(0 < side < _LIMIT for side in sides)
        or not numbers
        or (fillcolor is not None and fill is None)
    ):
        return None
    return recipe.then(name, *sides, numbers, int(resample), fill, size=(sides[0], sides[1]))


def _fill(color: Any, mode: str) -> list[int] | None:
    """A colour as Pillow understands it, by band; None where that is not plain."""
    values = [color] * BANDS[mode] if type(color) is int and (mode == "L" or color == 0) else color
    plain = (
        type(values) in (list, tuple)
        and type(color) is not list
        and len(values) == BANDS[mode]
        and all(type(v) is int and 0 <= v <= 255 for v in values)
    )
    return list(values) if plain else None


def _filter_in_place_of(original: Any) -> Any:
    lending = _lending_to(original)

    @like(original)
    def filter(self: Any, filter: Any) -> Any:
        from PIL.ImageFilter import GaussianBlur

        return (lending if type(filter) is GaussianBlur else original)(self, filter)

    return filter


def _install_operations() -> None:
    from PIL import ImageEnhance, ImageOps

    replace(ImageOps, "expand", _expand)
    replace(ImageOps, "autocontrast", _autocontrast)
    replace(ImageOps, "equalize", _equalize)
    for name, recorded in _TABLED.items():
        replace(ImageOps, name, _tabled(name, recorded))
    if is_own(ImageEnhance._Enhance.enhance, ImageEnhance):
        for name in ("Color", "Contrast", "Brightness", "Sharpness"):
            _install_enhancer(getattr(ImageEnhance, name), ImageEnhance)


def _expand(original: Any, image: Any, border: Any = 0, fill: Any = 0) -> Any:
    recipe = deferred(image)
    colour = recipe and _fill(fill, recipe.mode)
    sides = _integers(border if type(border) is tuple and len(border) in (2, 4) else (border,))
    if (
        not recipe
        or not colour
        or not sides
        or not all(0 <= side < 1 << 16 for side in sides)
        or "transparency" in image.info
    ):
        return original(image, border, fill)
    left, top, right, bottom = (sides * 4)[:4]
    made = recipe.then(
        "expand", left, top, right, bottom, colour, size=(image.width + left + right, image.height + top + bottom)
    )
    return bare(image, made)


def bare(image: Any, recipe: Recipe) -> Any:
    """An image of its own, that knows nothing of the file."""
    if not _Undo.images:
        _Undo.images = True
    return sys.modules["PIL.Image"].Image()._new(recipe)


def _autocontrast(
    original: Any, image: Any, cutoff: Any = 0, ignore: Any = None, mask: Any = None, preserve_tone: Any = False
) -> Any:
    recipe = deferred(image)
    low, high = cutoff if type(cutoff) is tuple and len(cutoff) == 2 else (cutoff, cutoff)
    plain = all(type(value) in (int, float) and 0 <= value < 50 for value in (low, high))
    if not recipe or not plain or ignore is not None or mask is not None or preserve_tone:
        return original(image, cutoff, ignore, mask, preserve_tone)
    return image._new(recipe.then("autocontrast", low, high))


def _equalize(original: Any, image: Any, mask: Any = None) -> Any:
    recipe = deferred(image)
    return original(image, mask) if not recipe or mask is not None else image._new(recipe.then("equalize"))


#: Operations that have a table made of their arguments, for each picture anew, and what is recorded of those; None: the
#: daemon does not know them.
_TABLED: dict[str, Callable[..., tuple[Any, ...] | None]] = {
    "posterize": lambda bits: (bits,) if type(bits) is int and 1 <= bits <= 8 else None,
    "solarize": lambda threshold=128: (threshold,) if type(threshold) in (int, float) and abs(threshold) < _LIMIT else None,
    "invert": lambda: (),
}


def _tabled(name: str, recorded: Callable[..., tuple[Any, ...] | None]) -> Callable[..., Any]:
    def operate(original: Any, image: Any, *arguments: Any, **named: Any) -> Any:
        recipe = deferred(image)
        try:
            given = recorded(*arguments, **named)
        except TypeError:  # to be raised by the original
            given = None
        if recipe is None or given is None:
            return original(image, *arguments, **named)
        return image._new(recipe.then(name, *given))

    return operate


def _install_enhancer(kind: type, module: Any) -> None:
    """What an enhancer makes in the beginning, of the image as it is then, waits until it is needed."""
    begin, enhance, name = kind.__init__, kind.enhance, kind.__name__.lower()
    if not is_own(begin, module):
        return

    @like(begin)
    def __init__(self: Any, image: Any) -> None:
        recipe = deferred(image) if type(self) is kind else None
        if recipe is None:
            return begin(self, image)
        self.image = image
        self._stoker = recipe

    @like(enhance)
    def enhanced(self: Any, factor: Any) -> Any:
        recipe = vars(self).get("_stoker")
        untouched = (
            recipe is not None and getattr(self.image, "_im", None) is recipe and recipe.value is None and recording()
        )
        if untouched and type(factor) in (int, float) and abs(factor) < _LIMIT:
            made = recipe.then(name, factor)
            return self.image._new(made) if name in ("color", "sharpness") else bare(self.image, made)
        if recipe is not None:
            self.degenerate  # noqa: B018 # of the image as it was
        return enhance(self, factor)

    def __getattr__(self: Any, attribute: str) -> Any:
        recipe = vars(self).get("_stoker")
        if recipe is None or attribute not in ("degenerate", "intermediate_mode"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{attribute}'")
        del self._stoker
        image, snapshot = self.image, self.image._new(recipe.make().copy())
        begin(self, snapshot)
        self.image = image
        return getattr(self, attribute)

    for attribute, ours in (("__init__", __init__), ("enhance", enhanced), ("__getattr__", __getattr__)):
        put(kind, attribute, ours, lasting=True)
