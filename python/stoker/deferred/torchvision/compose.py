"""What torchvision's Compose does to a picture that waits, without the way from call to call.

For each picture a transform goes through six functions and more of torch, torchvision and Pillow, and makes an image
that only the next one sees. Here what is recorded in the end is recorded at once: sides come from torchvision's own
arithmetic, and random numbers from the same generator in the same order. That stands for functions whose text is known,
in workers, while a picture waits. A class of the program's own, a hook, a function in another's place, an argument that
raises or is warned of: from there on each is called as ever.
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..recipes import pictures as _pictures
from ..recipes.known import Places, digest, there
from ..recipes.pictures import Recipe, Recording, Source, Tally, put, recording, undoing
from ..recipes.plan import Cell, Plan
from ..recipes.standins import is_own, replaces
from ..torch.tensors import Later, bytes_of, converted, hue_byte, normalized, scaled
from .draws import Draws, exceeds, happens, memory

_HOME = "torchvision.transforms.transforms"
#: What is stood for: of the transforms, of functional, and of what that has for pictures.
_COMPOSE = "Compose.__call__"
_TRANSFORMS = (
    "Resize.forward CenterCrop.forward RandomResizedCrop.forward RandomHorizontalFlip.forward ToTensor.__call__ Normalize.forward "
    "RandomApply.forward ColorJitter.forward ColorJitter.get_params RandomGrayscale.forward PILToTensor.__call__ ConvertImageDtype.forward"
)
_FUNCTIONS = (
    "resize center_crop crop resized_crop hflip get_dimensions _compute_resized_output_size "
    "adjust_brightness adjust_contrast adjust_saturation adjust_hue rgb_to_grayscale"
)
_OF_PICTURES = "resize crop hflip get_dimensions _is_pil_image adjust_brightness adjust_contrast adjust_saturation"
_KNOWN = {"01a3bc162440f9b2a525e9aa9f602207"}  # digests of them all, of torchvision 0.19 to 0.29
_RECORDED = {"resize", "crop", "transpose"}
_HOOKS = "_global_forward_hooks", "_global_forward_pre_hooks", "_global_backward_hooks", "_global_backward_pre_hooks"
_MOST = 1 << 15  # of a side
_done: set[str] = set()


def install(worker: bool) -> None:
    """Put it in place in a worker, behind _draws and _tensors; in a trainer, see to what its workers need."""
    module = sys.modules.get(_HOME)
    if module is None or _done or text(module) not in _KNOWN or not worker or not _usual(module):
        return
    _done.add("torchvision")
    undoing(_done.clear)
    put(module.Compose, "__call__", in_place_of(module))


def _usual(module: Any) -> bool:
    """Whether all that is stood for, and whose text is not looked at, is whose it should be."""
    modules, kind = torch.nn.modules.module, torch.nn.Module
    calls = kind.__call__ is kind._wrapped_call_impl and all(is_own(each, modules) for each in (kind.__call__, kind._call_impl))
    pillow = sys.modules["PIL.Image"]
    images = all(is_own(getattr(pillow.Image, name), pillow) for name in there(pillow.Image, "_new _copy_info _crop"))
    stood_for = replaces(module.F, *_STOOD_FOR) and replaces(module.F.F_pil, *_STOOD_FOR_PICTURES)
    return calls and images and stood_for and all(hasattr(modules, name) for name in _HOOKS)


_STOOD_FOR = "to_tensor", "normalize", "pil_to_tensor", "convert_image_dtype"
_STOOD_FOR_PICTURES = "adjust_hue", "to_grayscale"


def text(module: Any) -> str:
    """The digest of what is stood for."""
    try:
        owners = ((module, f"{_COMPOSE} {_TRANSFORMS}"), (module.F, _FUNCTIONS), (module.F.F_pil, _OF_PICTURES))
        found = [functools.reduce(getattr, name.split("."), owner) for owner, names in owners for name in names.split()]
    except AttributeError:
        return ""
    return digest(*found)


def in_place_of(module: Any) -> Callable[..., Any]:
    """Compose.__call__."""
    steps = _Steps(module)
    kind, original = module.Compose, module.Compose.__call__

    @functools.wraps(original)
    def __call__(self: Any, img: Any) -> Any:
        now = recording()
        if now is None or type(self) is not kind or not steps.usual(now):
            return original(self, img)
        return steps.out(*steps.run(now, self.transforms, img, steps.waiting(img)))

    steps.compose = __call__
    return __call__


_WAITING = (Recipe, Plan)  # a picture, or a tensor, that may be without an object


def _plain(own: dict[str, Any]) -> bool:
    """Whether a transform has nothing of its own that is called, by what is in it."""
    return not any(map(own.get, _CALLED))


_CALLED = (
    "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks",
    "forward", "_compiled_call_impl", "_wrapped_call_impl", "_call_impl",
)  # fmt: skip


class _Steps:
    """What is recorded for each transform: something that waits, an image of its own that does, a list of transforms
    that are gone through, None where it is to be called, or what is to be called in its place."""

    def __init__(self, module: Any) -> None:
        self._functional = functional = module.F
        self._pillow = pillow = sys.modules["PIL.Image"]
        self._image = pillow.Image
        self._recorded: bool | None = None
        self._coloured = False  # and what changes colours as well
        self._copies = True  # Pillow crops nothing off; before 13 it does that as well
        self._modules, self._hooks, self._tracing = torch.nn.modules.module, operator.attrgetter(*_HOOKS), torch._C._is_tracing
        self._filters = {id(mode): number for mode, number in functional.pil_modes_mapping.items()}
        self._draws = getattr(module.RandomResizedCrop.get_params, "draws", None)
        self._drawable = Draws().possible
        self.compose: Any = None  # what stands in Compose's place
        self._places = Places(
            (module, _TRANSFORMS + " RandomResizedCrop.get_params F torch"),
            (functional, _FUNCTIONS + " to_tensor normalize pil_to_tensor convert_image_dtype pil_modes_mapping F_pil F_t"),
            (functional.F_pil, _OF_PICTURES + " adjust_hue to_grayscale ImageEnhance"),
            (sys.modules["PIL.ImageEnhance"], _ENHANCERS),
            (pillow.Image, "resize crop transpose copy load im _crop _new _copy_info"),
            (pillow, "_decompression_bomb_check"),
            (torch.nn.Module, "__call__ _wrapped_call_impl _call_impl"),
        )
        pictures = {
            module.Resize: self._resize,
            module.CenterCrop: self._center,
            module.RandomHorizontalFlip: self._flip,
            module.ToTensor: self._scale,
            module.PILToTensor: self._bytes,
            module.ColorJitter: self._jitter,
            module.RandomGrayscale: self._grey,
        }
        groups = {module.Compose: self._all, module.RandomApply: self._apply}
        tensors = {module.Normalize: self._normalize, module.ConvertImageDtype: self._convert}
        if self._draws is not None:
            pictures[module.RandomResizedCrop] = self._draw
        self.of: dict[type, dict[type, Any]] = {Recipe: pictures | groups, Plan: tensors | groups, type(None): {}}

    def run(self, now: Recording, transforms: Any, img: Any, waits: Any) -> tuple[Any, Any]:
        """An object and what it waits for, some transforms later."""
        for t in transforms:
            step = self.of[type(waits)].get(type(t))
            after = step(now, t, waits) if step is not None and _plain(vars(t)) else None
            kind = type(after)
            if kind in _WAITING:
                waits = after
            elif kind is list:
                img, waits = self.run(now, after, img, waits)
            elif kind is self._image:
                img, waits = after, after._im
            else:
                img = self.out(img, waits)  # which deferring.py looks for where a transform raises
                img = (after or t)(img)
                waits = self.waiting(img)
        return img, waits

    def usual(self, now: Recording) -> bool:
        """Whether all that is stood for is what it was."""
        if now.composes is None:
            now.composes = self._places.same_code() and _RECORDED.isdisjoint(_pictures.left) and self._as_pillow()
        plain = not any(self._hooks(self._modules)) and not self._tracing() and self._drawable()
        return now.composes and plain and self._places.unchanged()

    def _as_pillow(self) -> bool:
        """Whether Pillow's own methods record what is recorded here; looked at once."""
        if self._recorded is None:
            own = [getattr(self._image, name).__code__ for name in ("resize", "crop", "transpose", "copy")]
            self._recorded = _pictures.lent_to(own) and self._tried()
        return self._recorded

    def _tried(self) -> bool:
        before, Recording.now = Recording.now, Recording(Tally())
        try:
            begin = Recipe(Source(b"", "RGB", (6, 4)), (), "RGB", (6, 4))
            image = self._image()._new(begin)
            image.info = {"a": [1], "b": 2}
            theirs = image.resize((3, 2), 2), image.crop((1, 0, 5, 3)), image.crop((0, 0, 6, 4)), image.transpose(0)
            self._copies = not theirs[2]._im.ops
            whole = begin.copy() if self._copies else begin.crop((0, 0, 6, 4))
            ours = begin.resize((3, 2), 2, (0, 0, 6, 4)), begin.crop((1, 0, 5, 3)), whole, begin.transpose(0)
            self._coloured = _RECOLOURED.isdisjoint(_pictures.left) and self._tried_colours(image, begin)
            return all(same_image(one, image._new(other)) for one, other in zip(theirs, ours))
        except Exception:
            return False
        finally:
            Recording.now = before

    def _tried_colours(self, image: Any, begin: Recipe) -> bool:
        """Whether torchvision's functions record of colours what is recorded here."""
        functional, factors = self._functional, (1.5, 1.25, 0.5, -0.25)
        changes = functional.adjust_brightness, functional.adjust_contrast, functional.adjust_saturation, functional.adjust_hue
        for which, change in enumerate(changes):
            ours = _coloured(begin, factors, [which])
            if not same_image(change(image, factors[which]), image._new(ours) if type(ours) is Recipe else ours):
                return False
        return same_image(functional.rgb_to_grayscale(image, 3), _greyed(begin))

    def waiting(self, img: Any) -> Recipe | None:
        """What a picture waits for that everything here is recorded of."""
        recipe = img._im if type(img) is self._image else None
        plain = type(recipe) is Recipe and recipe.value is None and not recipe.late and recipe.mode in _pictures._PLAIN
        return recipe if plain else None

    def out(self, img: Any, waits: Any) -> Any:
        """The object: that of before where nothing became of it."""
        if waits is None:
            return img
        if type(waits) is Plan:
            return Later(Cell(waits))
        return img if img._im is waits else img._new(waits)

    def _resize(self, now: Recording, t: Any, waits: Recipe) -> Recipe | None:
        return self._resized(waits, t.size, t.interpolation, t.max_size, t.antialias)

    def _resized(self, waits: Recipe, size: Any, interpolation: Any, longest: Any, antialias: Any) -> Recipe | None:
        kind = self._filters.get(id(interpolation))
        if kind is None or antialias is not True and antialias is not None:
            return None
        wanted = (size,) if type(size) is int else tuple(size) if type(size) in (list, tuple) else ()
        if {*map(type, wanted)} != _INTEGERS:
            return None
        width, height = before = waits.size
        if len(wanted) == 2 and longest is None:
            down, across = wanted
        elif len(wanted) == 1 and (longest is None or type(longest) is int):
            down, across = _sides(self._functional._compute_resized_output_size, height, width, wanted[0], longest)
        else:
            return None
        if not (0 < across < _MOST and 0 < down < _MOST):
            return None
        return waits if (across, down) == before else waits.resize((across, down), kind, (0, 0, width, height))

    def _center(self, now: Recording, t: Any, waits: Recipe) -> Recipe | None:
        size = t.size
        if type(size) not in (list, tuple) or len(size) != 2 or not type(size[0]) is type(size[1]) is int:
            return None
        (height, width), (across, down) = size, waits.size
        if not 0 < height <= down or not 0 < width <= across:
            return None
        return self._cropped(waits, int(round((down - height) / 2.0)), int(round((across - width) / 2.0)), height, width)

    def _cropped(self, waits: Recipe, top: int, left: int, height: int, width: int) -> Recipe | None:
        if self._copies and (width, height) == waits.size:
            return waits.copy()
        limit = self._pillow.MAX_IMAGE_PIXELS
        if limit is not None and width * height > limit:
            return None
        return waits.crop((left, top, left + width, top + height))

    def _draw(self, now: Recording, t: Any, waits: Recipe) -> Any:
        ratio, (width, height) = t.ratio, waits.size
        if not self._draws.usual(ratio):
            return None
        top, left, down, across = drawn = self._draws.draw(now, height, width, t.scale, ratio)
        size, inside = t.size, 0 <= top <= height - down < height and 0 <= left <= width - across < width
        crop = self._cropped(waits, *drawn) if inside else None
        after = crop and self._resized(crop, size, t.interpolation, None, t.antialias)
        return after or (lambda img: self._functional.resized_crop(img, *drawn, size, t.interpolation, antialias=t.antialias))

    def _flip(self, now: Recording, t: Any, waits: Recipe) -> Recipe | None:
        if type(t.p) not in _NUMBERS:
            return None
        return waits.transpose(0) if happens(now, t.p) else waits

    def _all(self, now: Recording, t: Any, waits: Any) -> list[Any] | None:
        ours = type(t).__call__ is self.compose and type(t.transforms) in _LISTS
        return list(t.transforms) if ours else None

    def _apply(self, now: Recording, t: Any, waits: Any) -> Any:
        if type(t.p) not in _NUMBERS or type(t.transforms) not in _LISTS:
            return None
        return waits if exceeds(now, t.p) else list(t.transforms)

    def _jitter(self, now: Recording, t: Any, waits: Recipe) -> Any:
        ranges = t.brightness, t.contrast, t.saturation, t.hue
        if not self._coloured or waits.mode != "RGB" or not _plain_ranges(ranges):
            return None
        order, number = torch.randperm(4).tolist(), memory(now)[0]
        return _coloured(waits, [each and number.uniform_(*each).item() for each in ranges], order)

    def _grey(self, now: Recording, t: Any, waits: Recipe) -> Any:
        if not self._coloured or waits.mode != "RGB" or type(t.p) not in _NUMBERS:
            return None
        return _greyed(waits) if happens(now, t.p) else waits

    def _scale(self, now: Recording, t: Any, waits: Recipe) -> Plan | None:
        return scaled(waits) if now.tensors else None

    def _bytes(self, now: Recording, t: Any, waits: Recipe) -> Plan | None:
        return bytes_of(waits, rows=True) if now.tensors else None

    def _convert(self, now: Recording, t: Any, waits: Plan) -> Plan | None:
        return converted(waits, t.dtype)

    def _normalize(self, now: Recording, t: Any, waits: Plan) -> Plan | None:
        return None if t.inplace else normalized(waits, t.mean, t.std)


_INTEGERS = {int}
_LISTS = list, tuple, torch.nn.ModuleList
_ENHANCERS = "Brightness.__init__ Brightness.enhance Contrast.__init__ Contrast.enhance Color.__init__ Color.enhance"
_COLOURS = "brightness", "contrast", "color", "hue"  # as ColorJitter counts them
_RECOLOURED = {*_COLOURS, "convert"}


def _plain_ranges(ranges: tuple[Any, ...]) -> bool:
    """Whether they are those that ColorJitter makes of its arguments."""
    known = all(each is None or type(each) is tuple and {*map(type, each)} <= _NUMBERS for each in ranges)
    return known and _within(ranges)


_NUMBERS = {int, float}


@functools.lru_cache(64)
def _within(ranges: tuple[Any, ...]) -> bool:
    bounds = (0, _MOST), (0, _MOST), (0, _MOST), (-0.5, 0.5)
    return all(
        each is None or len(each) == 2 and least <= each[0] <= each[1] <= most for each, (least, most) in zip(ranges, bounds)
    )


def _coloured(recipe: Recipe, factors: Sequence[float | None], order: list[int]) -> Any:
    """With its colours changed in that order; an image of its own where it then knows nothing of its file."""
    bare = False
    for which in order:
        factor = factors[which]
        if factor is not None:
            recipe = recipe.then(_COLOURS[which], hue_byte(factor) if which == 3 else factor)
            bare = bare or which != 2
    return _pictures.bare(None, recipe) if bare else recipe


def _greyed(recipe: Recipe) -> Any:
    """An image of its own in grey."""
    return _pictures.bare(None, recipe.then("convert", "L", mode="L").then("convert", "RGB", mode="RGB"))


@functools.lru_cache(4096)
def _sides(compute: Any, height: int, width: int, shorter: int, longest: int | None) -> tuple[int, int]:
    """Height and width; (0, 0) where torchvision raises."""
    try:
        down, across = compute((height, width), [shorter], longest)
        return down, across
    except Exception:
        return 0, 0


def same_image(one: Any, other: Any) -> bool:
    """Whether two of Pillow's images wait for the same, and know the same."""
    mine, theirs = dict(vars(one)), dict(vars(other))
    waits, also = mine.pop("_im"), theirs.pop("_im")
    alike = type(waits) is type(also) is Recipe and (waits.source, waits.ops, waits.mode, waits.size) == (
        also.source, also.ops, also.mode, also.size
    )  # fmt: skip
    return alike and type(one) is type(other) and mine == theirs
