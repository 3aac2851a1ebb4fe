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
from collections.abc import Callable
from typing import Any

import torch

from . import _pictures
from ._known import Places, digest, there
from ._pictures import Recipe, Recording, Source, Tally, _of, put, recording, undoing
from ._plan import Cell, Plan
from ._tensors import Later, normalized, scaled

_HOME = "torchvision.transforms.transforms"
#: What is stood for: of the transforms, of functional, and of what that has for pictures.
_COMPOSE = "Compose.__call__"
_TRANSFORMS = (
    "Resize.forward CenterCrop.forward RandomResizedCrop.forward RandomHorizontalFlip.forward ToTensor.__call__ Normalize.forward"
)
_FUNCTIONS = "resize center_crop crop resized_crop hflip get_dimensions _compute_resized_output_size"
_OF_PICTURES = "resize crop hflip get_dimensions _is_pil_image"
_KNOWN = {"6ac420e73de9a6b0b7da3afd62879a49"}  # digests of them all, of torchvision 0.19 to 0.29
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
    calls = kind.__call__ is kind._wrapped_call_impl and all(_of(each, modules) for each in (kind.__call__, kind._call_impl))
    pillow = sys.modules["PIL.Image"]
    images = all(_of(getattr(pillow.Image, name), pillow) for name in there(pillow.Image, "_new _copy_info _crop"))
    stood_for = {"_stoker_to_tensor", "_stoker_normalize"} <= vars(module.F).keys()
    return calls and images and stood_for and all(hasattr(modules, name) for name in _HOOKS)


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
    kind, original, of = module.Compose, module.Compose.__call__, steps.of

    @functools.wraps(original)
    def __call__(self: Any, img: Any) -> Any:
        now = recording()
        if now is None or type(self) is not kind or not steps.usual(now):
            return original(self, img)
        waits = steps.waiting(img)
        for t in self.transforms:
            step = of[type(waits)].get(type(t))
            after = step(now, t, waits) if step is not None and _plain(vars(t)) else None
            if type(after) in _WAITING:
                waits = after
                continue
            img = steps.out(img, waits)  # which _defer looks for where a transform raises
            img = (after or t)(img)
            waits = steps.waiting(img)
        return steps.out(img, waits)

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
    """What is recorded for each transform: something that waits, None where it is to be called, or what is to be called
    in its place."""

    def __init__(self, module: Any) -> None:
        self._functional = functional = module.F
        self._pillow = pillow = sys.modules["PIL.Image"]
        self._image = pillow.Image
        self._recorded: bool | None = None
        self._copies = True  # Pillow crops nothing off; before 13 it does that as well
        self._modules, self._hooks, self._tracing = torch.nn.modules.module, operator.attrgetter(*_HOOKS), torch._C._is_tracing
        self._filters = {id(mode): number for mode, number in functional.pil_modes_mapping.items()}
        self._draws = getattr(module.RandomResizedCrop.get_params, "draws", None)
        self._places = Places(
            (module, _TRANSFORMS + " RandomResizedCrop.get_params F torch"),
            (functional, _FUNCTIONS + " to_tensor normalize pil_modes_mapping F_pil F_t"),
            (functional.F_pil, _OF_PICTURES),
            (pillow.Image, "resize crop transpose copy load im _crop _new _copy_info"),
            (pillow, "_decompression_bomb_check"),
            (torch.nn.Module, "__call__ _wrapped_call_impl _call_impl"),
        )
        pictures = {
            module.Resize: self._resize,
            module.CenterCrop: self._center,
            module.RandomHorizontalFlip: self._flip,
            module.ToTensor: self._scale,
        }
        if self._draws is not None:
            pictures[module.RandomResizedCrop] = self._draw
        self.of: dict[type, dict[type, Any]] = {Recipe: pictures, Plan: {module.Normalize: self._normalize}, type(None): {}}

    def usual(self, now: Recording) -> bool:
        """Whether all that is stood for is what it was."""
        if now.composes is None:
            now.composes = self._places.same_code() and _RECORDED.isdisjoint(_pictures.left) and self._as_pillow()
        return now.composes and not any(self._hooks(self._modules)) and not self._tracing() and self._places.unchanged()

    def _as_pillow(self) -> bool:
        """Whether Pillow's own methods record what is recorded here; looked at once."""
        if self._recorded is None:
            own = [getattr(self._image, name).__code__ for name in ("resize", "crop", "transpose", "copy")]
            self._recorded = _pictures.lent_to(own) and self._tried()
        return self._recorded

    def _tried(self) -> bool:
        before, Recording.now = Recording.now, Recording(True, Tally())
        try:
            begin = Recipe(Source(b"", "JPEG", "RGB", (6, 4)), (), "RGB", (6, 4))
            image = self._image()._new(begin)
            image.info = {"a": [1], "b": 2}
            theirs = image.resize((3, 2), 2), image.crop((1, 0, 5, 3)), image.crop((0, 0, 6, 4)), image.transpose(0)
            self._copies = not theirs[2]._im.ops
            whole = begin.copy() if self._copies else begin.crop((0, 0, 6, 4))
            ours = begin.resize((3, 2), 2, (0, 0, 6, 4)), begin.crop((1, 0, 5, 3)), whole, begin.transpose(0)
            return all(same_image(one, image._new(other)) for one, other in zip(theirs, ours))
        except Exception:
            return False
        finally:
            Recording.now = before

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

    def _flip(self, now: Recording, t: Any, waits: Recipe) -> Recipe:
        return waits.transpose(0) if torch.rand(1) < t.p else waits

    def _scale(self, now: Recording, t: Any, waits: Recipe) -> Plan | None:
        return scaled(waits)

    def _normalize(self, now: Recording, t: Any, waits: Plan) -> Plan | None:
        return None if t.inplace else normalized(waits, t.mean, t.std)


_INTEGERS = {int}


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
