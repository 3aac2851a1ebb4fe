"""Compose and its transforms on a deferred picture, without the calls between them.

A transform calls six or more functions of torch, torchvision and Pillow for each picture, and makes
an image that only the next transform sees. This module records the final operations directly: sides
are computed by torchvision's own arithmetic, and random numbers drawn from the same generator in
the same order. It is used in workers, for functions with a known digest, while a picture is
deferred. From a user's class, a hook, a replaced function or an argument that raises or warns
onwards, transforms are called as usual.
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from ..recipes import pictures as _pictures
from ..recipes.digests import Places, digest, list_existing
from ..recipes.pictures import (
    Recipe,
    Recording,
    Source,
    Tally,
    on_uninstall,
    patch,
    recording,
)
from ..recipes.plan import Cell, Plan
from ..recipes.replacements import has_replacements, is_own
from ..torch.tensors import (
    DeferredTensor,
    convert_plan,
    make_bytes_plan,
    normalize_plan,
    scale_plan,
    to_hue_byte,
)
from .draws import Draws, exceeds, happens, memory

if TYPE_CHECKING:
    from types import ModuleType

    from PIL.Image import Image
    from torchvision.transforms import transforms as T

_HOME = "torchvision.transforms.transforms"
#: The functions that are skipped: of the transforms, of functional, and of its part for images.
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
_KNOWN = {"01a3bc162440f9b2a525e9aa9f602207"}  # digests of all of them, of torchvision 0.19 to 0.29
_NEEDED_OPERATIONS = {"resize", "crop", "transpose"}
_HOOKS = "_global_forward_hooks", "_global_forward_pre_hooks", "_global_backward_hooks", "_global_backward_pre_hooks"
_MOST = 1 << 15  # of a side
_done: set[str] = set()


def install(worker: bool) -> None:
    """Patch Compose in a worker, after draws.py and tensors.py; in a trainer, only check."""
    module = sys.modules.get(_HOME)
    if module is None or _done or digest_text(module) not in _KNOWN or not worker or not _is_library_code(module):
        return
    _done.add("torchvision")
    on_uninstall(_done.clear)
    patch(module.Compose, "__call__", wrap_call(module))


def _is_library_code(module: ModuleType) -> bool:
    """Whether the skipped functions that have no digest are the libraries' own."""
    modules, kind = torch.nn.modules.module, torch.nn.Module
    calls = kind.__call__ is kind._wrapped_call_impl and all(is_own(each, modules) for each in (kind.__call__, kind._call_impl))
    pillow = sys.modules["PIL.Image"]
    images = all(is_own(getattr(pillow.Image, name), pillow) for name in list_existing(pillow.Image, "_new _copy_info _crop"))
    replaced = has_replacements(module.F, *_REPLACED_FUNCTIONS) and has_replacements(module.F.F_pil, *_REPLACED_PICTURE_FUNCTIONS)
    return calls and images and replaced and all(hasattr(modules, name) for name in _HOOKS)


_REPLACED_FUNCTIONS = "to_tensor", "normalize", "pil_to_tensor", "convert_image_dtype"
_REPLACED_PICTURE_FUNCTIONS = "adjust_hue", "to_grayscale"


def digest_text(module: ModuleType) -> str:
    """Return the digest of the skipped functions."""
    try:
        owners = ((module, f"{_COMPOSE} {_TRANSFORMS}"), (module.F, _FUNCTIONS), (module.F.F_pil, _OF_PICTURES))
        found = [functools.reduce(getattr, name.split("."), owner) for owner, names in owners for name in names.split()]
    except AttributeError:
        return ""
    return digest(*found)


def wrap_call(module: ModuleType) -> Callable[..., Any]:
    """Wrap Compose.__call__."""
    steps = _Recorder(module)
    kind, original = module.Compose, module.Compose.__call__

    @functools.wraps(original)
    def __call__(self: Any, img: Image) -> Any:
        now = recording()
        if now is None or type(self) is not kind or not steps.can_record(now):
            return original(self, img)
        return steps.to_object(*steps.run(now, self.transforms, img, steps.find_recipe(img)))

    steps.compose = __call__
    return __call__


_PENDING = (Recipe, Plan)  # replaces an image or tensor that was not constructed


def _is_plain(own: dict[str, Any]) -> bool:
    """Whether a transform, by its attributes, has neither a hook nor a replaced method."""
    return not any(map(own.get, _CALLED))


_CALLED = (
    "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks",
    "forward", "_compiled_call_impl", "_wrapped_call_impl", "_call_impl",
)  # fmt: skip


class _Recorder:
    """Records transforms.

    For each transform, a method returns a recipe or plan, a new deferred image, or a list of
    transforms to go through. None means to call the transform, and a function to call that instead.
    """

    def __init__(self, module: ModuleType) -> None:
        self._functional = functional = module.F
        self._pillow = pillow = sys.modules["PIL.Image"]
        self._image = pillow.Image
        self._recorded: bool | None = None
        self._coloured = False  # whether colour changes are recorded, too
        self._copies = True  # whether a crop to the whole image is a copy, which depends on Pillow's version
        self._modules, self._hooks, self._tracing = torch.nn.modules.module, operator.attrgetter(*_HOOKS), torch._C._is_tracing
        self._filters = {id(mode): number for mode, number in functional.pil_modes_mapping.items()}
        self._draws = getattr(module.RandomResizedCrop.get_params, "draws", None)
        self._drawable = Draws().is_unchanged
        self.compose: Any = None  # the replacement of Compose.__call__
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

    def run(
        self,
        now: Recording,
        transforms: Iterable[Callable[[Any], Any]],
        img: Image | torch.Tensor,
        pending: Recipe | Plan | None,
    ) -> tuple[Any, Any]:
        """Apply transforms. Returns an object, and the recipe or plan that replaces it if there is
        one."""
        for t in transforms:
            step = self.of[type(pending)].get(type(t))
            after = step(now, t, pending) if step is not None and _is_plain(vars(t)) else None
            kind = type(after)
            if kind in _PENDING:
                pending = after
            elif kind is list:
                img, pending = self.run(now, after, img, pending)
            elif kind is self._image:
                img, pending = after, after._im
            else:
                img = self.to_object(img, pending)  # in img, as deferring.py finds the transform that raised
                img = (after or t)(img)
                pending = self.find_recipe(img)
        return img, pending

    def can_record(self, now: Recording) -> bool:
        """Whether all skipped functions are unchanged."""
        if now.composes is None:
            now.composes = self._places.has_same_code() and _NEEDED_OPERATIONS.isdisjoint(_pictures.untrusted) and self._records_as_pillow()
        plain = not any(self._hooks(self._modules)) and not self._tracing() and self._drawable()
        return now.composes and plain and self._places.is_unchanged()

    def _records_as_pillow(self) -> bool:
        """Whether Pillow's methods record the same; tried once."""
        if self._recorded is None:
            own = [getattr(self._image, name).__code__ for name in ("resize", "crop", "transpose", "copy")]
            self._recorded = _pictures.are_core_callers(own) and self._try_operations()
        return self._recorded

    def _try_operations(self) -> bool:
        before, Recording.now = Recording.now, Recording(Tally())
        try:
            begin = Recipe(Source(b"", "RGB", (6, 4)), (), "RGB", (6, 4))
            image = self._image()._new(begin)
            image.info = {"a": [1], "b": 2}
            theirs = image.resize((3, 2), 2), image.crop((1, 0, 5, 3)), image.crop((0, 0, 6, 4)), image.transpose(0)
            self._copies = not theirs[2]._im.ops
            whole = begin.copy() if self._copies else begin.crop((0, 0, 6, 4))
            ours = begin.resize((3, 2), 2, (0, 0, 6, 4)), begin.crop((1, 0, 5, 3)), whole, begin.transpose(0)
            self._coloured = _NEEDED_COLOUR_OPERATIONS.isdisjoint(_pictures.untrusted) and self._try_colours(image, begin)
            return all(same_image(one, image._new(other)) for one, other in zip(theirs, ours))
        except Exception:
            return False
        finally:
            Recording.now = before

    def _try_colours(self, image: Image, begin: Recipe) -> bool:
        """Whether torchvision's functions record the same for colours."""
        functional, factors = self._functional, (1.5, 1.25, 0.5, -0.25)
        changes = functional.adjust_brightness, functional.adjust_contrast, functional.adjust_saturation, functional.adjust_hue
        for which, change in enumerate(changes):
            ours = _change_colours(begin, factors, [which])
            if not same_image(change(image, factors[which]), image._new(ours) if type(ours) is Recipe else ours):
                return False
        return same_image(functional.rgb_to_grayscale(image, 3), _make_grey(begin))

    def find_recipe(self, img: Image) -> Recipe | None:
        """Return an image's recipe, if all operations here can be recorded on it."""
        recipe = img._im if type(img) is self._image else None
        plain = type(recipe) is Recipe and recipe.value is None and not recipe.late
        return recipe if plain else None

    def to_object(self, img: Image | torch.Tensor, pending: Recipe | Plan | None) -> Any:
        """Return the object of a recipe or plan: the one given, if nothing changed."""
        if pending is None:
            return img
        if type(pending) is Plan:
            return DeferredTensor(Cell(pending))
        return img if img._im is pending else img._new(pending)

    def _resize(self, now: Recording, t: T.Resize, pending: Recipe) -> Recipe | None:
        return self._resize_recipe(pending, t.size, t.interpolation, t.max_size, t.antialias)

    def _resize_recipe(
        self,
        pending: Recipe,
        size: int | Sequence[int],
        interpolation: T.InterpolationMode,
        longest: int | None,
        antialias: bool | None,
    ) -> Recipe | None:
        kind = self._filters.get(id(interpolation))
        if kind is None or antialias is not True and antialias is not None:
            return None
        wanted = (size,) if type(size) is int else tuple(size) if type(size) in (list, tuple) else ()
        if {*map(type, wanted)} != _INTEGERS:
            return None
        width, height = before = pending.size
        if len(wanted) == 2 and longest is None:
            down, across = wanted
        elif len(wanted) == 1 and (longest is None or type(longest) is int):
            down, across = _compute_sides(self._functional._compute_resized_output_size, height, width, wanted[0], longest)
        else:
            return None
        if not (0 < across < _MOST and 0 < down < _MOST):
            return None
        return pending if (across, down) == before else pending.resize((across, down), kind, (0, 0, width, height))

    def _center(self, now: Recording, t: T.CenterCrop, pending: Recipe) -> Recipe | None:
        size = t.size
        if type(size) not in (list, tuple) or len(size) != 2 or not type(size[0]) is type(size[1]) is int:
            return None
        (height, width), (across, down) = size, pending.size
        if not 0 < height <= down or not 0 < width <= across:
            return None
        return self._crop_recipe(pending, int(round((down - height) / 2.0)), int(round((across - width) / 2.0)), height, width)

    def _crop_recipe(self, pending: Recipe, top: int, left: int, height: int, width: int) -> Recipe | None:
        if self._copies and (width, height) == pending.size:
            return pending.copy()
        limit = self._pillow.MAX_IMAGE_PIXELS
        if limit is not None and width * height > limit:
            return None
        return pending.crop((left, top, left + width, top + height))

    def _draw(self, now: Recording, t: T.RandomResizedCrop, pending: Recipe) -> Any:
        ratio, (width, height) = t.ratio, pending.size
        if not self._draws.can_draw(ratio):
            return None
        top, left, down, across = drawn = self._draws.draw(now, height, width, t.scale, ratio)
        size, inside = t.size, 0 <= top <= height - down < height and 0 <= left <= width - across < width
        crop = self._crop_recipe(pending, *drawn) if inside else None
        after = crop and self._resize_recipe(crop, size, t.interpolation, None, t.antialias)
        return after or (lambda img: self._functional.resized_crop(img, *drawn, size, t.interpolation, antialias=t.antialias))

    def _flip(self, now: Recording, t: T.RandomHorizontalFlip, pending: Recipe) -> Recipe | None:
        if type(t.p) not in _NUMBERS:
            return None
        return pending.transpose(0) if happens(now, t.p) else pending

    def _all(self, now: Recording, t: T.Compose, pending: Recipe | Plan) -> list[Any] | None:
        ours = type(t).__call__ is self.compose and type(t.transforms) in _LISTS
        return list(t.transforms) if ours else None

    def _apply(self, now: Recording, t: T.RandomApply, pending: Recipe | Plan) -> Any:
        if type(t.p) not in _NUMBERS or type(t.transforms) not in _LISTS:
            return None
        return pending if exceeds(now, t.p) else list(t.transforms)

    def _jitter(self, now: Recording, t: T.ColorJitter, pending: Recipe) -> Any:
        ranges = t.brightness, t.contrast, t.saturation, t.hue
        if not self._coloured or pending.mode != "RGB" or not _are_plain_ranges(ranges):
            return None
        order, number = torch.randperm(4).tolist(), memory(now)[0]
        return _change_colours(pending, [each and number.uniform_(*each).item() for each in ranges], order)

    def _grey(self, now: Recording, t: T.RandomGrayscale, pending: Recipe) -> Any:
        if not self._coloured or pending.mode != "RGB" or type(t.p) not in _NUMBERS:
            return None
        return _make_grey(pending) if happens(now, t.p) else pending

    def _scale(self, now: Recording, t: T.ToTensor, pending: Recipe) -> Plan | None:
        return scale_plan(pending) if now.tensors else None

    def _bytes(self, now: Recording, t: T.PILToTensor, pending: Recipe) -> Plan | None:
        return make_bytes_plan(pending, rows=True) if now.tensors else None

    def _convert(self, now: Recording, t: T.ConvertImageDtype, pending: Plan) -> Plan | None:
        return convert_plan(pending, t.dtype)

    def _normalize(self, now: Recording, t: T.Normalize, pending: Plan) -> Plan | None:
        return None if t.inplace else normalize_plan(pending, t.mean, t.std)


_INTEGERS = {int}
_LISTS = list, tuple, torch.nn.ModuleList
_ENHANCERS = "Brightness.__init__ Brightness.enhance Contrast.__init__ Contrast.enhance Color.__init__ Color.enhance"
_COLOURS = "brightness", "contrast", "color", "hue"  # in ColorJitter's order
_NEEDED_COLOUR_OPERATIONS = {*_COLOURS, "convert"}


def _are_plain_ranges(ranges: tuple[Any, ...]) -> bool:
    """Whether these ranges are as ColorJitter makes them of its arguments."""
    known = all(each is None or type(each) is tuple and {*map(type, each)} <= _NUMBERS for each in ranges)
    return known and _are_ranges_valid(ranges)


_NUMBERS = {int, float}


@functools.lru_cache(64)
def _are_ranges_valid(ranges: tuple[Any, ...]) -> bool:
    bounds = (0, _MOST), (0, _MOST), (0, _MOST), (-0.5, 0.5)
    return all(
        each is None or len(each) == 2 and least <= each[0] <= each[1] <= most for each, (least, most) in zip(ranges, bounds)
    )


def _change_colours(recipe: Recipe, factors: Sequence[float | None], order: list[int]) -> Any:
    """Record colour changes in this order. Returns a new image if the result does not know its
    file."""
    drops_file_info = False
    for which in order:
        factor = factors[which]
        if factor is not None:
            recipe = recipe.then(_COLOURS[which], to_hue_byte(factor) if which == 3 else factor)
            drops_file_info = drops_file_info or which != 2
    return _pictures.new_image(recipe) if drops_file_info else recipe


def _make_grey(recipe: Recipe) -> Any:
    """Record a conversion to grey. Returns a new image."""
    return _pictures.new_image(recipe.then("convert", "L", mode="L").then("convert", "RGB", mode="RGB"))


@functools.lru_cache(4096)
def _compute_sides(
    compute: Callable[..., Sequence[int]], height: int, width: int, shorter: int, longest: int | None
) -> tuple[int, int]:
    """Return height and width; (0, 0) if torchvision raises."""
    try:
        down, across = compute((height, width), [shorter], longest)
        return down, across
    except Exception:
        return 0, 0


def same_image(one: Image, other: Image) -> bool:
    """Whether two deferred images have equal recipes and equal attributes."""
    mine, theirs = dict(vars(one)), dict(vars(other))
    pending, also = mine.pop("_im"), theirs.pop("_im")
    alike = type(pending) is type(also) is Recipe and (pending.source, pending.ops, pending.mode, pending.size) == (
        also.source, also.ops, also.mode, also.size
    )  # fmt: skip
    return alike and type(one) is type(other) and mine == theirs
