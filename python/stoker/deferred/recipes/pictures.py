"""Deferred images of Pillow: only the header was read, and operations are recorded.

While a DataLoader fetches, a JPEG that Pillow would decode gets a `Recipe` instead of its core
image (`Image._im`): the file's bytes and a list of pending operations. Pillow's Python code runs as
usual, its checks and its copies of `info` included. It calls the recipe's methods instead of the
core's, and the recipe records the few operations below. Any other access to the core (`Image.im`:
drawing, saving, pixels, NumPy, a C extension) makes Pillow decode at once.

So types, attributes and errors are Pillow's own. A pickle is a decoded image, and methods that a
program replaces are called. Only the thread that fetches records.
"""

from __future__ import annotations

import copy
import functools
import operator
import os
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Union

from ...daemon import files as _files
from . import headers, jpeg, replacements, share
from .replacements import is_own, replace

if TYPE_CHECKING:
    from types import ModuleType

    from PIL._imaging import ImagingCore
    from PIL.Image import Image
    from PIL.ImageFilter import Filter
    from PIL.JpegImagePlugin import JpegImageFile

    Colour = Union[float, tuple[float, ...], str, None]  # of a fill, as Pillow takes it

Op = tuple[Any, ...]  # name and arguments; JSON can hold them

#: Operations, file formats and dtypes that the daemon computes differently from the installed
#: libraries: the libraries compute these. trust.py fills it before anything is deferred.
untrusted: set[str] = set()
BANDS = {"L": 1, "RGB": 3}  # the modes that are deferred
_FILTERS = range(6)  # of Image.Resampling, as Pillow had them before 13
PIXELS = "the pixels of a picture"  # for report_need
_LIMIT = 1 << 24  # of sides and coordinates, so that sums do not overflow
LARGEST_FILE = 64 << 20  # bytes
lock = threading.RLock()  # a forked child gets its own


class Account(Protocol):
    """The counts that processes share; payoff.py has them."""

    def count_fetch(self, deferred: bool, opened: int) -> bool: ...


class Tally:
    """Counts of the pictures that one data set has opened in this process."""

    def __init__(self, account: Account | None = None) -> None:
        self.account = account  # shared with the other processes
        self.opened = 0  # number of pictures
        self.reported = 0  # how many of them the account knows


_thread = threading.local()
_under_way: set[Recording] = set()


class _Now(type):
    @property
    def now(cls) -> Recording | None:
        """The recording of this thread."""
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
    """What the fetch of one thread has recorded. A thread without one records nothing."""

    report_need: Callable[[str], None] = staticmethod(lambda what: None)  # called with what was needed at once
    find_asking: Callable[[], str] = staticmethod(str)  # names the program's line that runs now

    def __init__(self, tally: Tally, tensors: bool = True) -> None:
        self.tensors = tensors  # whether tensors may be deferred, too
        self.stream = False  # an iterable data set: its iterator continues in the next fetch
        self.is_gathered = False  # whether the collate function was called
        self.tally = tally
        self.newest: Source | None = None
        self.draw_buffers: Any = None  # tensors for random numbers
        self.markers: bool | None = None  # whether Pillow's JPEG markers are unchanged; None: not checked yet
        self.composes: bool | None = None  # whether Compose is unchanged; None: not checked yet
        self.opens: dict[Any, bool] = {}  # the same for each replacement of an open function
        self.files: _files.Files | None = None  # memory that files were read into
        self.recipes: list[weakref.ref[Recipe]] = []
        self.deferred_tensors: list[weakref.ref[Any]] = []  # weak references to tensors

    @property
    def is_used(self) -> bool:
        """Whether anything was deferred."""
        return self.newest is not None


def _detach_fetches() -> None:
    """Before a fork: copy the file bytes of running fetches, so that a child keeps its own."""
    for found in list(_under_way):
        if found.files is not None:
            found.files.part()


def _reset_after_fork() -> None:
    """Forget the parent's fetches in a forked child, and replace the lock: a thread may have held
    it."""
    global lock
    lock = threading.RLock()
    _under_way.clear()
    Recording.now = None


os.register_at_fork(before=_detach_fetches, after_in_child=_reset_after_fork)


def recording() -> Recording | None:
    """Return the recording of this thread, or None."""
    return getattr(_thread, "recording", None)


class Source:
    """A file's bytes, with the mode and size of its header."""

    __slots__ = ("data", "mode", "size", "prefixes", "files", "at", "counted_as", "__weakref__")

    def __init__(self, data: bytes | memoryview, mode: str, size: tuple[int, int]) -> None:
        self.data, self.mode, self.size = data, mode, size
        self.prefixes: list[_Prefix] = []  # operations that Pillow has computed for several pictures of it
        self.files: _files.Files | None = None  # the shared memory that holds data, at offset `at`
        self.at = 0
        self.counted_as = -1  # kind in share.py; -1: not counted yet

    def decode(self) -> Any:
        """Decode with Pillow and return the core image. The header's warnings were given when it
        was opened."""
        from PIL import Image

        return Image.frombytes(self.mode, self.size, self.data, "jpeg", self.mode, "").im


class _Prefix:
    """Operations that several pictures of a file begin with. Their result is kept for the second
    one on."""

    __slots__ = ("ops", "uses", "core")

    def __init__(self, ops: tuple[Op, ...]) -> None:
        self.ops, self.uses, self.core = ops, 0, None

    def matches(self, ops: tuple[Op, ...]) -> bool:
        return len(ops) == len(self.ops) and all(map(operator.is_, ops, self.ops))


_weak_ref = weakref.ref


class Recipe:
    """Replaces Pillow's core image. It is immutable until materialized, and belongs to one
    image."""

    __slots__ = ("source", "ops", "mode", "size", "value", "late", "__weakref__")
    readonly = 0  # Pillow reads it on the core

    def __init__(self, source: Source, ops: tuple[Op, ...], mode: str, size: tuple[int, int]) -> None:
        self.source, self.ops, self.mode, self.size = source, ops, mode, size
        self.value: Any = None  # the core image, once materialized
        self.late = False  # its fetch has ended; it is materialized on the next access
        if found := getattr(_thread, "recording", None):
            found.recipes.append(_weak_ref(self))

    @property
    def bands(self) -> int:
        return BANDS[self.mode]

    def then(self, *op: Any, mode: str | None = None, size: tuple[int, int] | None = None) -> Recipe:
        after = Recipe(self.source, (*self.ops, op), mode or self.mode, size or self.size)
        if op[0] in untrusted:
            share.keep_reason(share.PILLOW, f"such as {op[0]}, which is Pillow's here")
            after.materialize()
        return after

    def materialize(self) -> Any:
        """Return the core image; from now on the recipe forwards to it."""
        with lock:
            if self.value is None:
                share.count_file(self.source, share.PILLOW)
                self.value = compute_by_pillow(self.source, self.ops)
            return self.value

    def __getattr__(self, name: str) -> Any:  # for operations that are not recorded
        return getattr(self.materialize(), name)

    # The recorded methods of Pillow's core. Unusual arguments go to the core itself.

    def copy(self) -> Recipe:
        return Recipe(self.source, self.ops, self.mode, self.size)

    def convert(self, mode: str, *dither: Any) -> Any:
        if mode != self.mode and mode in BANDS:
            return self.then("convert", mode, mode=mode)
        return self.materialize().convert(mode, *dither)

    def crop(self, box: tuple[int, int, int, int]) -> Any:
        left, top, right, bottom = box
        if right > left and bottom > top and max(map(abs, box)) < _LIMIT:
            return self.then("crop", *box, size=(right - left, bottom - top))
        return self.materialize().crop(box)

    def resize(self, size: tuple[int, int], resample: int, box: tuple[float, ...]) -> Any:
        if box == (0, 0, *self.size) and type(size) is tuple and len(size) == 2:  # the common case
            width, height = size
            sides = type(width) is type(height) is int and 0 < width < _LIMIT and 0 < height < _LIMIT
            if sides and isinstance(resample, int) and type(resample) is not bool and 0 <= resample < len(_FILTERS):
                return self.then("resize", width, height, int(resample), None, size=size)
        numbers = as_integers(size), as_integers((resample,)), as_floats(box)
        if all(numbers) and len(numbers[0]) == 2 and len(box) == 4:
            (width, height), (kind,), (left, top, right, bottom) = numbers
            inside = 0 <= left < right <= self.size[0] and 0 <= top < bottom <= self.size[1]
            if inside and 0 < width < _LIMIT and 0 < height < _LIMIT and kind in _FILTERS:
                whole = (left, top, right, bottom) == (0, 0, *self.size)
                return self.then("resize", width, height, kind, None if whole else numbers[2], size=(width, height))
        return self.materialize().resize(size, resample, box)

    def reduce(self, factor: tuple[int, int], box: tuple[int, int, int, int]) -> Any:
        numbers, edges = as_integers(factor), as_integers(box)
        if len(numbers) == 2 and len(edges) == 4 and all(0 < number < _LIMIT for number in numbers):
            (x, y), (left, top, right, bottom) = numbers, edges
            if 0 <= left < right <= self.size[0] and 0 <= top < bottom <= self.size[1]:
                return self.then("reduce", x, y, edges, size=(-(-(right - left) // x), -(-(bottom - top) // y)))
        return self.materialize().reduce(factor, box)

    def transpose(self, method: int) -> Any:
        if type(method) is not bool and method in range(7):
            turned = method in (2, 4, 5, 6)
            return self.then("transpose", int(method), size=self.size[::-1] if turned else self.size)
        return self.materialize().transpose(method)

    def point(self, table: list[int], mode: str | None) -> Any:
        if len(table) == 256 * self.bands and mode in (None, self.mode):
            try:
                return self.then("point", list(bytes(table)))
            except ValueError:  # some are below 0 or above 255
                if all(type(value) is int for value in table):
                    return self.then("point", [min(max(value, 0), 255) for value in table])
            except TypeError:
                pass
        return self.materialize().point(table, mode)

    def gaussian_blur(self, radius: tuple[float, float], *passes: Any) -> Any:
        radii = as_floats((radius, radius) if type(radius) in (int, float) else radius)  # a single number in Pillow 10
        if not passes and radii and len(radii) == 2 and all(0 <= r < 1000 for r in radii):
            return self.then("gaussian_blur", *radii)
        return self.materialize().gaussian_blur(radius, *passes)


class Canvas:
    """Replaces the core image of a new picture of one colour."""

    __slots__ = ("mode", "size", "fill")
    readonly = 0

    def __init__(self, mode: str, size: tuple[int, int], fill: list[int]) -> None:
        self.mode, self.size, self.fill = mode, size, fill
        _Patches.images = True

    def materialize(self) -> Any:
        """Return the core image."""
        return sys.modules["PIL.Image"].core.fill(self.mode, self.size, _to_pillow_fill(self.fill))


def as_integers(values: Iterable[object]) -> list[int]:
    """Return the values as ints; an empty list if one is not an integer."""
    if {*map(type, values)} == {int}:
        return list(values)
    return (
        [int(value) for value in values]
        if all(hasattr(value, "__index__") and type(value) is not bool for value in values)
        else []
    )


def as_floats(values: Iterable[object]) -> list[float]:
    try:
        numbers = [value if type(value) in (int, float) else float(value) for value in values]
    except (TypeError, ValueError):
        return []
    return numbers if all(abs(number) < _LIMIT for number in numbers) else []


def find_recipe(image: Image) -> Recipe | None:
    """Return an image's recipe, or None if it must not be recorded on. A file just opened gets one
    here."""
    recipe = getattr(image, "_im", None)
    if recipe is None:
        recipe = _defer_decoding(image)
    if type(recipe) is not Recipe or recipe.value is not None:
        return None
    if not getattr(_thread, "recording", None):
        return None
    if recipe.late:  # a kept picture is decoded once, and not in each fetch
        recipe.materialize()
        return None
    return recipe


def _defer_decoding(image: JpegImageFile) -> Recipe | None:
    """Read the file of an image that Pillow would decode now, and defer decoding. None: Pillow
    decodes it."""
    found = recording()
    if found is None or getattr(image, "format", None) != "JPEG" or not _is_untouched(image):
        return None
    file, mode, sides = image.fp, image.mode, image.size
    try:
        files = found.files = found.files or _files.take()
        at, size = file.tell(), file.seek(0, 2)
        file.seek(0)
        # With its size: a read() of more than the file holds allocates all of it.
        data = files.read(file, size) if size <= LARGEST_FILE else b""
        whole = type(data) in (bytes, memoryview) and len(data) == size
        end = _find_read_end(data, at, image.decodermaxblock) if whole else 0
        if end != size or not size:  # leave the file where Pillow would stop reading
            file.seek(end or at)
        if not end:
            return None
    except (OSError, ValueError, AttributeError):
        return None  # Pillow will raise it as well
    found.newest = source = Source(data, mode, sides)
    files.keep(source)
    found.tally.opened += 1
    image._im = Recipe(source, (), mode, sides)
    if not _Patches.images:
        _Patches.images = True
    image.tile, image.map, image.readonly = [], None, 0
    if image._exclusive_fp and image._close_exclusive_fp_after_loading:
        file.close()
    image.fp = None
    return image._im


def _is_untouched(image: Image) -> bool:
    """Whether a JPEG is as Image.open returned it: not loaded, no draft, no method replaced."""
    if type(image) is not sys.modules["PIL.JpegImagePlugin"].JpegImageFile or "JPEG" in untrusted:
        return False
    if image._im is not None or image.fp is None:
        return False
    mode, size = image.mode, image.size
    if len(image.tile) != 1 or image.decoderconfig or not _OVERRIDES.isdisjoint(vars(image)):
        return False
    return mode in BANDS and tuple(image.tile[0]) == ("jpeg", (0, 0, *size), 0, (mode, ""))


_OVERRIDES = {"load", "load_read", "load_prepare", "load_end"}


def _find_read_end(data: bytes | memoryview, at: int, block: int) -> int:
    """Return where Pillow, reading in blocks, stops reading a file; 0 if Pillow has to decode it.

    at is where Pillow's reading of the header ended.
    """
    end = jpeg.find_end(data, at)
    return min(len(data), -(-end // block) * block)


class _Pixels:
    """The pixel access that load() returns for a deferred picture. The first access materializes
    it."""

    def __init__(self, image: Image) -> None:
        self._image = image

    def _real(self) -> Any:
        return self._image.im.pixel_access(self._image.readonly)

    def __getitem__(self, at: tuple[int, int]) -> Any:
        return self._real()[at]

    def __setitem__(self, at: tuple[int, int], value: float | tuple[int, ...]) -> None:
        self._real()[at] = value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real(), name)


# Decoding by Pillow.


def compute_by_pillow(source: Source, ops: tuple[Op, ...]) -> Any:
    """Decode a source with Pillow and apply the operations. Returns the core image.

    Only calls of Pillow's own code were recorded, so Pillow gives the same result now. If several
    pictures of a file are needed, the decoded file and the result before the last operation are
    kept until the fetch ends: a program that cuts tiles asks for each of them separately.
    """
    from PIL import Image

    blank = Image.Image()
    with lock:
        core, done = None, 0
        for end in sorted({0, max(len(ops) - 1, 0)}):
            prefix = _find_prefix(source, ops[:end])
            if prefix.core is None and (core is None or prefix.uses > 1):
                core = source.decode() if core is None else apply_ops(blank._new(core), ops[done:end]).im
                done = end
                prefix.core = core if prefix.uses > 1 else None
            elif prefix.core is not None:
                core, done = prefix.core, end
        result = apply_ops(blank._new(core), ops[done:]).im
        return result.copy() if any(result is each.core for each in source.prefixes) else result


def _find_prefix(source: Source, ops: tuple[Op, ...]) -> _Prefix:
    prefix = next((each for each in source.prefixes if each.matches(ops)), None)
    if prefix is None:
        prefix = _Prefix(ops)
        source.prefixes = [*source.prefixes[-_MOST_PREFIXES:], prefix]
    prefix.uses += 1
    return prefix


_MOST_PREFIXES = 7  # of a file [J]: the whole picture, and the latest that were cropped


def apply_ops(image: Image, ops: Iterable[Op]) -> Any:
    """Apply recorded operations to an image."""
    for name, *arguments in ops:
        image = PILLOW_OPERATIONS[name](image, *arguments)
    return image


def _make_transform(method: int) -> Callable[..., Any]:
    def apply(image: Image, width: int, height: int, data: list[float], resample: int, fill: list[int] | None) -> Any:
        return image.transform((width, height), method, data, resample, fillcolor=_to_pillow_fill(fill))

    return apply


def _to_pillow_fill(fill: list[int] | None) -> Any:
    return fill and (fill[0] if len(fill) == 1 else tuple(fill))


def _make_enhance(kind: str) -> Callable[..., Any]:
    def apply(image: Image, factor: float) -> Any:
        from PIL import ImageEnhance

        return getattr(ImageEnhance, kind)(image).enhance(factor)

    return apply


def _make_imageops_call(kind: str) -> Callable[..., Any]:
    def apply(image: Image, *arguments: Any) -> Any:
        from PIL import ImageOps

        return getattr(ImageOps, kind)(image, *arguments)

    return apply


def _shift_hue(image: Image, shift: int) -> Any:
    from PIL import Image

    h, s, v = image.convert("HSV").split()
    return Image.merge("HSV", (h.point([(value + shift) & 255 for value in range(256)]), s, v)).convert("RGB")


def _pad(image: Image, kind: str, left: int, top: int, right: int, bottom: int) -> Any:
    import numpy as np
    from PIL import Image

    array = np.asarray(image)
    return Image.fromarray(np.pad(array, ((top, bottom), (left, right), (0, 0))[: array.ndim], kind))


def _blur(image: Image, x: float, y: float) -> Any:
    try:
        return image._new(image.im.gaussian_blur((x, y)))
    except TypeError:  # Pillow 10, which takes a single number
        return image._new(image.im.gaussian_blur(x))


PILLOW_OPERATIONS: dict[str, Callable[..., Any]] = {
    "convert": lambda image, mode: image.convert(mode),
    "crop": lambda image, *box: image._new(image.im.crop(box)),
    "resize": lambda image, w, h, kind, box: image._new(
        image.im.resize((w, h), kind, tuple(box or (0, 0, *image.size)))
    ),
    "reduce": lambda image, x, y, box: image._new(image.im.reduce((x, y), tuple(box))),
    "transpose": lambda image, method: image._new(image.im.transpose(method)),
    "affine": _make_transform(0),
    "perspective": _make_transform(2),
    "point": lambda image, table: image.point(table),
    "brightness": _make_enhance("Brightness"),
    "color": _make_enhance("Color"),
    "contrast": _make_enhance("Contrast"),
    "sharpness": _make_enhance("Sharpness"),
    "autocontrast": lambda image, low, high: _make_imageops_call("autocontrast")(image, (low, high)),
    "equalize": _make_imageops_call("equalize"),
    "posterize": _make_imageops_call("posterize"),
    "solarize": _make_imageops_call("solarize"),
    "invert": _make_imageops_call("invert"),
    "hue": _shift_hue,
    "gaussian_blur": _blur,
    "pad": _pad,
    "expand": lambda image, left, top, right, bottom, fill: _make_imageops_call("expand")(
        image, (left, top, right, bottom), _to_pillow_fill(fill)
    ),
}


# Patching Pillow.


def is_pillow_imported() -> bool:
    """Whether the program has imported Pillow. What it reads by another library is not deferred."""
    return "PIL.Image" in sys.modules


_load_file: Callable[[Any], Any] | None = None  # Pillow's own ImageFile.load, once it is patched


def install() -> bool:
    """Patch Pillow in this process, once. Returns False, and defers nothing, if Pillow is not as
    expected."""
    global _load_file
    from PIL import Image, ImageFile, JpegImagePlugin

    if _Patches.installed:
        return True
    if "im" not in vars(Image.Image):
        _turn_core_into_property(Image.Image)
    known = isinstance(vars(Image.Image)["im"], property)
    if not known or not is_own(Image.Image.load, Image) or not is_own(ImageFile.ImageFile.load, ImageFile):
        return False
    _load_file = ImageFile.ImageFile.load
    patch(Image.Image, "im", property(_wrap_core(Image.Image.im.fget), Image.Image.im.fset), lasting=True)
    patch(Image.Image, "load", _wrap_load(Image.Image.load))
    patch(ImageFile.ImageFile, "load", _wrap_load_file(_load_file))
    if is_own(JpegImagePlugin.JpegImageFile._open, JpegImagePlugin):
        patch(JpegImagePlugin.JpegImageFile, "_open", headers.wrap_open(JpegImagePlugin.JpegImageFile._open, recording))
    for name in ("copy", "__copy__", "convert", "crop", "reduce", "resize", "thumbnail", "transpose"):
        if is_own(method := getattr(Image.Image, name), Image):
            _core_callers.add(method.__code__)
    wrappers = {
        "point": _wrap_point,
        "transform": _wrap_transform,
        "filter": _wrap_filter,
        "__getstate__": _wrap_getstate,
        "__setstate__": _wrap_setstate,
    }
    for name, wrap in wrappers.items():
        if is_own(method := getattr(Image.Image, name), Image):
            patch(Image.Image, name, wrap(method))
    _install_operations()
    _Patches.installed = True
    return True


class _Patches:
    """The patches in place, and how to undo them."""

    installed = False
    images = False  # whether an image was ever deferred
    steps: list[Callable[[], None]] = []
    lasting: dict[tuple[Any, str], Callable[[], None]] = {}  # these stay if an image was deferred


def on_uninstall(undo: Callable[[], None]) -> None:
    """Call undo when the patches are uninstalled."""
    _Patches.steps.append(undo)


def patch(owner: type | ModuleType, name: str, value: object, lasting: bool = False) -> None:
    """Set an attribute of a library. Lasting patches stay while deferred images may exist."""
    if (owner, name) in _Patches.lasting:
        return
    before = vars(owner).get(name, _Patches)

    def undo() -> None:
        if vars(owner).get(name) is not value:
            return  # somebody else has patched it since
        if before is _Patches:
            delattr(owner, name)
        else:
            setattr(owner, name, before)

    setattr(owner, name, value)
    if lasting:
        _Patches.lasting[owner, name] = undo
    else:
        on_uninstall(undo)


def uninstall() -> None:
    """Undo the patches. Those that deferred images rely on stay. No fetch may be running."""
    steps, _Patches.steps, _Patches.installed = _Patches.steps, [], False
    if not _Patches.images:
        steps += _Patches.lasting.values()
        _Patches.lasting.clear()
    for undo in reversed(steps):
        undo()
    replacements.clear()


def _turn_core_into_property(kind: type) -> None:
    """Make Image.im a property in Pillow 10, which has it as an attribute. Existing images keep theirs."""

    def core(self: Any) -> Any:
        return vars(self).get("im") if self._im is None else self._im

    def patch(self: Any, core: ImagingCore) -> None:
        vars(self).pop("im", None)
        self._im = core

    kind._im, kind.im = None, property(core, patch)


def version() -> int:
    """Return the installed Pillow's major version."""
    return int(sys.modules["PIL.Image"].__version__.split(".")[0])


def _wrap_core(original: Callable[..., Any]) -> Any:
    @functools.wraps(original)
    def im(self: Any) -> Any:
        recipe = self._im
        if type(recipe) is not Recipe:
            if type(recipe) is Canvas:
                with lock:
                    if self._im is recipe:
                        self._im = recipe.materialize()
            return original(self)
        if recipe.value is None and not recipe.late and getattr(_thread, "recording", None):
            if _caller(1).f_code in _core_callers or getattr(_thread, "lent", None) is recipe:
                return recipe
            Recording.report_need(PIXELS)
        self._im = recipe.materialize()
        return self._im

    return im


_caller = sys._getframe
# code of Pillow's methods that only call the core's methods: they get the recipe
_core_callers: set[types.CodeType] = set()


def are_core_callers(codes: Iterable[types.CodeType]) -> bool:
    """Whether all of these are such methods."""
    return _core_callers.issuperset(codes)


def _wrap_load(original: Callable[..., Any]) -> Any:
    @functools.wraps(original)
    def load(self: Any) -> Any:
        recipe = self._im
        return _Pixels(self) if type(recipe) is Recipe and recipe.value is None else original(self)

    return load


def _wrap_load_file(original: Callable[..., Any]) -> Any:
    @functools.wraps(original)
    def load(self: Any) -> Any:
        if find_recipe(self):
            return _Pixels(self)
        if self.tile:
            share.count_load(self, Recording.find_asking if recording() else None)
        return original(self)

    return load


def _lend_core(original: Callable[..., Image]) -> Any:
    """Wrap a method of Pillow that only calls the core's methods: while it runs, it gets the
    recipe."""

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        recipe = find_recipe(self)
        if recipe is None:
            return original(self, *args, **kwargs)
        before, _thread.lent = getattr(_thread, "lent", None), recipe
        try:
            return original(self, *args, **kwargs)
        finally:
            _thread.lent = before

    return method


def _wrap_point(original: Callable[..., Image]) -> Any:
    lending = _lend_core(original)

    @functools.wraps(original)
    def point(self: Any, lut: Sequence[float] | Callable[[int], float], mode: str | None = None) -> Any:
        if find_recipe(self) is None or type(lut) not in (list, tuple) and not isinstance(lut, types.FunctionType):
            return original(self, lut, mode)
        if callable(lut):  # the program's own code must not get the recipe
            lut = [lut(value) for value in range(256)] * BANDS[self.mode]
        return lending(self, lut, mode)

    return point


def _wrap_transform(original: Callable[..., Image]) -> Any:
    @functools.wraps(original)
    def transform(
        self: Any, size: tuple[int, int], method: int, data: Sequence[float] | None = None, resample: int = 0, fill: int = 1, fillcolor: Colour = None
    ) -> Any:
        recipe = find_recipe(self)
        result = recipe and _record_transform(recipe, size, method, data, resample, fillcolor)
        return self._new(result) if result else original(self, size, method, data, resample, fill, fillcolor)

    return transform


def _record_transform(
    recipe: Recipe, size: tuple[int, int], method: int, data: Sequence[float], resample: int, fillcolor: Colour
) -> Recipe | None:
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
        as_integers(size),
        as_floats(data[:count]),
        None if fillcolor is None else as_colour(fillcolor, recipe.mode),
    )
    if (
        len(sides) != 2
        or not all(0 < side < _LIMIT for side in sides)
        or not numbers
        or (fillcolor is not None and fill is None)
    ):
        return None
    return recipe.then(name, *sides, numbers, int(resample), fill, size=(sides[0], sides[1]))


def as_colour(color: Colour, mode: str) -> list[int] | None:
    """Return a fill colour as a value for each band, or None if it is not a plain colour."""
    values = [color] * BANDS[mode] if type(color) is int and (mode == "L" or color == 0) else color
    plain = (
        type(values) in (list, tuple)
        and type(color) is not list
        and len(values) == BANDS[mode]
        and all(type(v) is int and 0 <= v <= 255 for v in values)
    )
    return list(values) if plain else None


def _wrap_filter(original: Callable[..., Image]) -> Any:
    lending = _lend_core(original)

    @functools.wraps(original)
    def filter(self: Any, filter: Filter | type[Filter]) -> Any:
        from PIL.ImageFilter import GaussianBlur

        return (lending if type(filter) is GaussianBlur else original)(self, filter)

    return filter


class _DeferredBytes:
    """Stands for a picture's bytes in its state, while copy.deepcopy copies the picture."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe

    def __deepcopy__(self, memo: object) -> _DeferredBytes:
        return self


def _is_deep_copy(frame: types.FrameType | None) -> bool:
    """Whether copy.deepcopy asks for a state: itself, or through the __getstate__ of a subclass of Pillow's."""
    while frame and frame.f_code.co_name == "__getstate__" and frame.f_globals.get("__name__", "").startswith("PIL."):
        frame = frame.f_back
    return frame is not None and frame.f_code is copy.deepcopy.__code__


def _wrap_getstate(original: Callable[..., Any]) -> Any:
    @functools.wraps(original)
    def __getstate__(self: Any) -> Any:
        recipe = find_recipe(self) if recording() and _is_deep_copy(_caller(1)) else None
        if recipe is None:
            return original(self)
        return [self.info, self.mode, self.size, None, _DeferredBytes(recipe.copy())]

    return __getstate__


def _wrap_setstate(original: Callable[..., Any]) -> Any:
    @functools.wraps(original)
    def __setstate__(self: Any, state: Any) -> None:
        if type(state) is not list or len(state) < 5 or type(state[4]) is not _DeferredBytes:
            return original(self, state)
        vars(self).update(vars(new_image(state[4].recipe)))
        self.info = state[0]

    return __setstate__


def _install_operations() -> None:
    from PIL import ImageEnhance, ImageOps

    replace(ImageOps, "expand", _record_expand)
    replace(ImageOps, "autocontrast", _record_autocontrast)
    replace(ImageOps, "equalize", _record_equalize)
    for name, recorded in _POINT_OPERATIONS.items():
        replace(ImageOps, name, _make_point_operation(name, recorded))
    if is_own(ImageEnhance._Enhance.enhance, ImageEnhance):
        for name in ("Color", "Contrast", "Brightness", "Sharpness"):
            _install_enhancer(getattr(ImageEnhance, name), ImageEnhance)


def _record_expand(
    original: Callable[..., Image], image: Image, border: int | tuple[int, ...] = 0, fill: Colour = 0
) -> Any:
    recipe = find_recipe(image)
    colour = recipe and as_colour(fill, recipe.mode)
    sides = as_integers(border if type(border) is tuple and len(border) in (2, 4) else (border,))
    if (
        not recipe
        or not colour
        or not sides
        or not all(0 <= side < 1 << 16 for side in sides)
        or "transparency" in image.info
    ):
        return original(image, border, fill)
    left, top, right, bottom = (sides * 4)[:4]
    result = recipe.then(
        "expand", left, top, right, bottom, colour, size=(image.width + left + right, image.height + top + bottom)
    )
    return new_image(result)


def new_image(recipe: Recipe | Canvas) -> Image:
    """Make a deferred image that, as after many operations of Pillow, does not know its file."""
    if not _Patches.images:
        _Patches.images = True
    return sys.modules["PIL.Image"].Image()._new(recipe)


def _record_autocontrast(
    original: Callable[..., Image],
    image: Image,
    cutoff: float | tuple[float, float] = 0,
    ignore: int | Sequence[int] | None = None,
    mask: Image | None = None,
    preserve_tone: bool = False,
) -> Any:
    recipe = find_recipe(image)
    low, high = cutoff if type(cutoff) is tuple and len(cutoff) == 2 else (cutoff, cutoff)
    plain = all(type(value) in (int, float) and 0 <= value < 50 for value in (low, high))
    if not recipe or not plain or ignore is not None or mask is not None or preserve_tone:
        return original(image, cutoff, ignore, mask, preserve_tone)
    return image._new(recipe.then("autocontrast", low, high))


def _record_equalize(original: Callable[..., Image], image: Image, mask: Image | None = None) -> Any:
    recipe = find_recipe(image)
    return original(image, mask) if not recipe or mask is not None else image._new(recipe.then("equalize"))


#: Operations that Pillow computes by a table of their arguments, and what is recorded of these.
#: None: not recorded.
_POINT_OPERATIONS: dict[str, Callable[..., tuple[Any, ...] | None]] = {
    "posterize": lambda bits: (bits,) if type(bits) is int and 1 <= bits <= 8 else None,
    "solarize": lambda threshold=128: (threshold,) if type(threshold) in (int, float) and abs(threshold) < _LIMIT else None,
    "invert": lambda: (),
}


def _make_point_operation(name: str, recorded: Callable[..., tuple[Any, ...] | None]) -> Callable[..., Any]:
    def operate(original: Callable[..., Image], image: Image, *arguments: Any, **named: Any) -> Any:
        recipe = find_recipe(image)
        try:
            given = recorded(*arguments, **named)
        except TypeError:  # the original raises it
            given = None
        if recipe is None or given is None:
            return original(image, *arguments, **named)
        return image._new(recipe.then(name, *given))

    return operate


def _install_enhancer(kind: type, module: ModuleType) -> None:
    """Defer what an enhancer computes from its image when it is constructed."""
    begin, enhance, name = kind.__init__, kind.enhance, kind.__name__.lower()
    if not is_own(begin, module):
        return

    @functools.wraps(begin)
    def __init__(self: Any, image: Image) -> None:
        recipe = find_recipe(image) if type(self) is kind else None
        if recipe is None:
            return begin(self, image)
        self.image = image
        self._stoker = recipe

    @functools.wraps(enhance)
    def record_enhance(self: Any, factor: float) -> Any:
        recipe = vars(self).get("_stoker")
        untouched = (
            recipe is not None and getattr(self.image, "_im", None) is recipe and recipe.value is None and recording()
        )
        if untouched and type(factor) in (int, float) and abs(factor) < _LIMIT:
            result = recipe.then(name, factor)
            return self.image._new(result) if name in ("color", "sharpness") else new_image(result)
        if recipe is not None:
            self.degenerate  # noqa: B018 # computed from the image as it was
        return enhance(self, factor)

    def __getattr__(self: Any, attribute: str) -> Any:
        recipe = vars(self).get("_stoker")
        if recipe is None or attribute not in ("degenerate", "intermediate_mode"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{attribute}'")
        del self._stoker
        image, snapshot = self.image, self.image._new(recipe.materialize().copy())
        begin(self, snapshot)
        self.image = image
        return getattr(self, attribute)

    for attribute, ours in (("__init__", __init__), ("enhance", record_enhance), ("__getattr__", __getattr__)):
        patch(kind, attribute, ours, lasting=True)
