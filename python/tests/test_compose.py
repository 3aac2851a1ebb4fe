"""Transforms and files that are recorded at once give what torchvision and Pillow give, or are left to them."""

import builtins
import contextlib
import functools
import io
import os
import pathlib
import random
import re
import sys
import tempfile
import types
import unittest
import warnings
from unittest import mock

try:
    import deferred_odd
    import numpy as np
    import torch
    import torchvision.datasets.folder as folders
    from PIL import Image, ImageEnhance, ImageFile, ImageOps, JpegImagePlugin
    from torchvision import transforms as T
    from torchvision.transforms import functional as F

    from stoker.daemon import files as _files
    from stoker.deferred.recipes import headers, pictures, replacements
    from stoker.deferred.recipes import digests as _digests
    from stoker.deferred.recipes.pictures import Recording, Tally
    from stoker.deferred.torch import tensors
    from stoker.deferred.torchvision import compose as _compose
    from stoker.deferred.torchvision import draws, opening
except ImportError:
    torch = None

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def jpeg(size=(90, 70), mode="RGB", **more):
    out = io.BytesIO()
    Image.effect_noise(size, 80).convert(mode).save(out, "JPEG", **more)
    return out.getvalue()


class RecordingCase(unittest.TestCase):
    """Pictures wait in this process."""

    def setUp(self):
        self.assertTrue(pictures.install())
        self.addCleanup(pictures.uninstall)
        self.enterContext(replacements.replacing())
        tensors.install(sys.modules)
        self.recording()
        self.addCleanup(setattr, Recording, "now", None)
        self.addCleanup(torch.set_rng_state, torch.get_rng_state())

    def recording(self):
        """Another fetch begins."""
        Recording.now = Recording(Tally())
        return Recording.now

    def told(self, function, *arguments):
        """What it gives or raises, the warnings, and where the random numbers stand then."""
        torch.manual_seed(7)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                found = function(*arguments)
            except Exception as error:
                found = f"{type(error).__name__}: {error}"
        return found, [(each.category, str(each.message)) for each in said], torch.get_rng_state().tolist()


def looks(value):
    """All that can be seen of a picture or tensor that waits."""
    if isinstance(value, tensors.DeferredTensor):
        plan = value.cell.plan
        return type(value), tuple(value.shape), value.stride(), value.dtype, plan.recipe.ops, plan.steps, plan.tail
    if isinstance(value, Image.Image):
        own = dict(vars(value))
        waits = own.pop("_im")
        own.pop("map", None)
        own["palette"] = own["palette"] and own["palette"].getdata()
        # LAB becomes RGB by a profile that Pillow makes: it says when.
        own["info"] = {key: value[:24] + value[36:] if key == "icc_profile" else value for key, value in own["info"].items()}
        return type(value), own, (waits.ops, waits.mode, waits.size) if type(waits) is pictures.Recipe else value.tobytes()
    return type(value), repr(value)


@unittest.skipIf(torch is None, "needs torch and torchvision")
class ComposeTest(RecordingCase):
    """Compose of torchvision itself, and what stands for it."""

    def setUp(self):
        super().setUp()
        draws.install(True)
        self.theirs = T.Compose.__call__
        self.ours = _compose.wrap_call(T.transforms)
        self.put(T.Compose, "__call__", self.ours)

    def put(self, owner, name, value):
        self.enterContext(mock.patch.object(owner, name, value))

    def picture(self, mode="RGB", size=(90, 70), **more):
        return Image.open(io.BytesIO(jpeg(size, mode, **more))).convert(mode)

    def called(self, function, *arguments):
        """As told, and how many transforms were called as ever."""
        codes = {vars(kind)[name].__code__ for kind, name in CALLS}
        count = 0

        def seen(frame, event, _):
            nonlocal count
            count += event == "call" and frame.f_code in codes

        sys.setprofile(seen)
        try:
            found = self.told(function, *arguments)
        finally:
            sys.setprofile(None)
        return found, count

    def assertEqualToTheirs(self, transforms, image, calls):
        """By what can be seen, and by the pixels; calls: of transforms that are left to torchvision, None for any."""
        compose = T.Compose(transforms)
        self.recording()
        (found, *rest), count = self.called(self.ours, compose, image)
        expected, *others = self.told(self.theirs, compose, image)
        self.assertEqual(looks(found), looks(expected))
        self.assertEqual(rest, others)
        self.assertEqual(found is image, expected is image)
        if calls is not None:
            self.assertEqual(count, calls)
        return found

    def test_known(self):
        """The installed torchvision is one that was read."""
        module = sys.modules["torchvision.transforms.transforms"]
        self.put(module.Compose, "__call__", self.theirs)
        self.assertIn(_compose.digest_text(module), _compose._KNOWN)

    def test_recorded(self):
        chains = (
            [T.Resize(32), T.CenterCrop(20), T.ToTensor(), T.Normalize(MEAN, STD)],
            [T.Resize([32]), T.CenterCrop((20, 22)), T.ToTensor()],
            [T.Resize((33, 44)), T.ToTensor(), T.Normalize(tuple(MEAN), tuple(STD))],
            [T.Resize(40, max_size=45), T.ToTensor(), T.Normalize([1, 2, 3], [0.5, 1, 2])],
            [T.Resize(40, interpolation=T.InterpolationMode.BICUBIC), T.CenterCrop(39)],
            [T.Resize(300, interpolation=T.InterpolationMode.NEAREST, antialias=None)],
            [T.Resize(40, interpolation=T.InterpolationMode.LANCZOS), T.Resize(20, interpolation=T.InterpolationMode.BOX)],
            [T.Resize(70), T.CenterCrop((70, 90)), T.RandomHorizontalFlip(0.0)],
            [T.Resize((70, 90)), T.RandomHorizontalFlip(0)],
            [T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(MEAN, STD)],
            [T.RandomResizedCrop((24, 21), (0.9, 1.0), (0.5, 2.0), T.InterpolationMode.BICUBIC), T.RandomHorizontalFlip(1.0)],
            [T.CenterCrop(50), T.RandomResizedCrop(50, (1.0, 1.0), (1.0, 1.0)), T.RandomHorizontalFlip(1)],
            [T.RandomResizedCrop(24, scale=(5.0, 6.0)), T.RandomResizedCrop(7, (9.0, 9.5), (4.0, 5.0))],
            [T.Compose([T.Resize(32), T.Compose((T.CenterCrop(20),))]), T.RandomApply([T.Resize(30), T.Resize(28)], 0.5), T.ToTensor()],
            [T.RandomApply(torch.nn.ModuleList([T.Resize(30)]), 1), T.PILToTensor(), T.ConvertImageDtype(torch.float16), T.Compose([T.RandomApply([T.Normalize([1, 2, 3], [0.5, 1, 2])])])],
            [T.PILToTensor(), T.ConvertImageDtype(torch.float32), T.Normalize(torch.tensor(MEAN), torch.tensor(STD))],
            [],
        )
        for number, transforms in enumerate(chains):
            for mode, size in (("RGB", (90, 70)), ("L", (61, 75)), ("RGB", (50, 50))):
                with self.subTest(number, mode=mode, size=size):
                    raises = mode == "L" and (number == 14 or any(type(each) is T.Normalize for each in transforms))
                    pads = number == 7 and size != (90, 70)
                    self.assertEqualToTheirs(transforms, self.picture(mode, size), None if raises or pads else 0)

    def test_colours(self):
        """What an image knows of its file is gone where Pillow or torchvision makes another one of it, and only there."""
        jitters = (
            T.ColorJitter(0.4, 0.4, 0.4, 0.1), T.ColorJitter(0.4), T.ColorJitter(contrast=(0.5, 0.5)), T.ColorJitter(saturation=0.9),
            T.ColorJitter(hue=0.5), T.ColorJitter(hue=(-0.5, -0.1)), T.ColorJitter(), T.RandomGrayscale(0.5), T.RandomGrayscale(1),
        )  # fmt: skip
        for number, t in enumerate(jitters):
            for seed in range(8):
                torch.manual_seed(seed)
                with self.subTest(number, seed=seed):
                    self.assertEqualToTheirs([T.Resize(30), t, T.Compose([T.RandomApply([t], 0.8)]), T.CenterCrop(8), T.ToTensor()], self.picture(dpi=(72, 72)), 0)
                    self.assertEqualToTheirs([t], self.picture(dpi=(72, 72)), 0)
        grey = self.picture("L")
        self.assertEqualToTheirs([T.ColorJitter(0.4)], grey, 1)
        self.assertEqualToTheirs([T.RandomGrayscale(0.5)], grey, 1)
        with mock.patch.object(pictures, "untrusted", {"hue"}):
            ours = _compose.wrap_call(T.transforms)
            self.recording()
            self.assertEqual(self.called(ours, T.Compose([T.Resize(20), T.ColorJitter(0.4)]), self.picture())[1], 1)

    def test_tables(self):
        """What ImageOps makes a table for is recorded by its argument, and what it refuses is refused in its words."""
        for mode in ("RGB", "L", "RGBA", "P"):
            data = jpeg(dpi=(72, 72))
            for function, arguments, named in (
                *((ImageOps.posterize, (bits,), {}) for bits in (1, 4, 8, 0, 9, 2.0, True, "3", None)),
                *((ImageOps.solarize, given, {}) for given in ((), (0,), (100,), (127.5,), (256,), (-1,), (float("nan"),), (1e30,), ("1",), (1, 2))),
                (ImageOps.posterize, (), {"bits": 3}), (ImageOps.solarize, (), {"threshold": 9}), (ImageOps.solarize, (), {"other": 9}),
                (ImageOps.invert, (), {}), (ImageOps.invert, (1,), {}),
            ):  # fmt: skip
                with self.subTest(function.__name__, mode=mode, arguments=arguments, named=named):
                    self.recording()
                    found, *rest = self.told(lambda: function(Image.open(io.BytesIO(data)).convert(mode), *arguments, **named))
                    if isinstance(found, Image.Image):
                        info, found = found.info, found.tobytes()
                    Recording.now = None
                    expected, *others = self.told(lambda: function(Image.open(io.BytesIO(data)).convert(mode), *arguments, **named))
                    if isinstance(expected, Image.Image):
                        self.assertEqual(info, expected.info)
                        expected = expected.tobytes()
                    self.assertTrue((found, rest) == (expected, others))  # without what differs, which is long
        self.recording()
        self.assertEqual(ImageOps.solarize(self.picture("RGB"))._im.ops[-1], ("solarize", 128))
        self.assertEqual(ImageOps.posterize(self.picture("RGB"), bits=3)._im.ops[-1], ("posterize", 3))

    def test_chances(self):
        """As torch compares a number with what it draws, in single precision."""
        now = self.recording()
        for p in (0, 1, 0.5, 0.8, 0.1, 1 / 3, float("nan"), *torch.rand(40).tolist(), *(value + 1e-9 for value in torch.rand(40).tolist())):
            for seed in range(30):
                with self.subTest(p=p, seed=seed):
                    for ours, theirs in ((draws.happens, lambda p: torch.rand(1) < p), (draws.exceeds, lambda p: p < torch.rand(1))):
                        torch.manual_seed(seed)
                        expected, state = bool(theirs(p)), torch.get_rng_state()
                        torch.manual_seed(seed)
                        self.assertEqual(ours(now, p), expected)
                        self.assertTrue(torch.equal(torch.get_rng_state(), state))
        for seed in range(30):  # at the very number that is drawn
            torch.manual_seed(seed)
            p = torch.rand(1).item()
            torch.manual_seed(seed)
            self.assertFalse(draws.happens(now, p))
            torch.manual_seed(seed)
            self.assertFalse(draws.exceeds(now, p))

    def test_pixels(self):
        """What was recorded becomes the tensor that torchvision makes of the picture."""
        data = jpeg()
        for transforms in (
            [T.Resize(32), T.CenterCrop(20), T.ToTensor(), T.Normalize(MEAN, STD)],
            [T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize([0, 0.5, 1], [1, 2, 0.3])],
            [T.RandomApply([T.ColorJitter(0.4, 0.4, 0.2, 0.1)], 0.8), T.RandomGrayscale(0.2), T.PILToTensor(), T.ConvertImageDtype(torch.float32)],
            [T.ColorJitter(0.9, 0.9, 0.9, 0.5), T.ToTensor(), T.Normalize(torch.tensor(MEAN), torch.tensor(STD))],
        ):
            compose = T.Compose(transforms)
            for seed in range(5):
                torch.manual_seed(seed)
                self.recording()
                found = self.ours(compose, Image.open(io.BytesIO(data)).convert("RGB")).materialize()
                Recording.now = None
                torch.manual_seed(seed)
                self.assertTrue(torch.equal(found, self.theirs(compose, Image.open(io.BytesIO(data)).convert("RGB"))))

    def test_random(self):
        """Chains by chance, of which much raises."""
        chance = random.Random(11)
        sides = (1, 2, 30, 70, 0, -3, 30.0, True, None, [30], (30, 20), (30,), (30, 20, 10), "30", [30.5, 20], [0, 5], torch.tensor(9))
        modes = (*T.InterpolationMode, 2, 3, "bilinear", None)
        numbers = (0.0, 0.5, 1.0, 1, 0, None, "x", torch.tensor(0.5), torch.tensor([0.1, 0.2]))
        lists = ([0.5] * 3, (0.5,) * 3, [1, 2, 3], [0.5], 0.5, [0.0, 1.0, 1.0], [1e-50] * 3, [], None, torch.tensor([0.5, 0.4, 0.3]), [True, 1.0, 2.0], np.full(3, 0.5))
        ranges = (None, (0.5, 1.5), (0, 2), (-0.5, 0.5), (-0.1, 0.1), [0.5, 1.5], (1.5, 0.5), (float("nan"), 1.0), 0.5, (0.5,), (torch.tensor(0.5), 1.0), (0.0, 1e9))
        groups = ([], (T.Resize(30),), T.Resize(30), torch.nn.Sequential(T.Resize(30)), torch.nn.ModuleList([T.Resize(30), T.RandomGrayscale(1.0)]), None, [None])
        dtypes = (torch.float32, torch.float64, torch.uint8, torch.int32, None, "float32")
        choices = {"sides": sides, "modes": modes, "numbers": numbers, "lists": lists, "ranges": ranges, "groups": groups, "dtypes": dtypes}

        def one():
            kind = chance.choice(tuple(MAKERS))
            t = MAKERS[kind]()
            for name in vars(t).keys() & CHANGES.keys():
                if chance.random() < 0.25:
                    setattr(t, name, chance.choice(choices[CHANGES[name]]))
            return t

        straight = 0
        for number in range(700):
            transforms = [one() for _ in range(chance.randrange(1, 5))]
            transforms += chance.choice(([], [T.ToTensor()], [T.ToTensor(), one()]))
            size = chance.choice(((90, 70), (64, 64), (1, 9), (2, 2), (33, 300)))
            with self.subTest(number, transforms=[(type(t).__name__, {k: v for k, v in vars(t).items() if k in CHANGES}) for t in transforms]):
                image = self.picture(chance.choice(("RGB", "RGB", "L")), size)
                if chance.random() < 0.2:
                    image = image.convert("RGBA")
                compose = T.Compose(transforms)
                self.recording()
                (found, *rest), count = self.called(self.ours, compose, image)
                expected, *others = self.told(self.theirs, compose, image)
                self.assertEqual((looks(found), rest), (looks(expected), others))
                straight += not count
        self.assertGreater(straight, 60)

    def test_otherwise(self):
        """What the program has made otherwise is called as ever."""

        class Own(T.Resize):
            def forward(self, img):
                return super().forward(img.crop((1, 1, 50, 50)))

        class Same(T.CenterCrop):
            pass

        class Chain(T.Compose):
            pass

        def hooked(register):
            t = T.Resize(30)
            getattr(t, register)(lambda module, *given: given[0][0].crop((0, 0, 9, 9)) if len(given) == 1 else given[1].crop((0, 0, 9, 9)))
            return t

        def with_own(name, value):
            t = T.Resize(30)
            vars(t)[name] = value
            return t

        def without(name):
            t = T.CenterCrop(30)
            delattr(t, name)
            return t

        smaller = lambda image: image.crop((0, 0, 9, 9))
        for number, (t, calls) in enumerate((
            (Own(30), 1),
            (Same(30), 1),
            (Chain([T.Resize(30)]), 1),
            (hooked("register_forward_pre_hook"), 1),
            (hooked("register_forward_hook"), 1),
            (with_own("forward", smaller), 0),
            (with_own("_compiled_call_impl", smaller), 0),
            (with_own("_call_impl", smaller), 0),
            (without("size"), 0),
            (T.Resize(30, antialias=False), 1),
            (T.CenterCrop(100), 1),
            (T.Grayscale(3), 0),
            (T.Lambda(lambda image: image.transpose(1)), 0),
            (smaller, 0),
            (T.Compose([T.Resize(40)]), 0),
            (T.RandomVerticalFlip(1.0), 0),
        )):  # fmt: skip
            with self.subTest(number):
                self.assertEqualToTheirs([T.Resize(60), t, T.CenterCrop(8), T.ToTensor()], self.picture(), None if number == 3 else calls)

    def test_changed(self):
        """What is changed between two pictures, and functions in another's place while one is made."""
        t, image = T.Resize(30), self.picture()
        for size in (30, [20, 20], 40.5, (9,)):
            t.size = size
            self.assertEqualToTheirs([t], image, int(size == 40.5))
        original = Image.Image.resize
        before = F.resize
        for owner, name, value in (
            (F, "resize", lambda image, *rest: image.crop((0, 0, 5, 5))),
            (F, "crop", lambda image, *rest: image),
            (F, "get_dimensions", lambda image: [3, 60, 50]),
            (F, "_compute_resized_output_size", lambda *rest: [11, 12]),
            (F, "to_tensor", lambda image: torch.ones(3, 4, 5)),
            (F, "normalize", lambda tensor, *rest: tensor),
            (F, "adjust_contrast", lambda image, factor: image),
            (F.F_pil, "adjust_hue", lambda image, factor: image),
            (F.F_pil, "to_grayscale", lambda image, bands: image),
            (ImageEnhance.Color, "enhance", lambda self, factor: self.image),
            (T.ColorJitter, "get_params", staticmethod(lambda *rest: (torch.arange(4), 1.5, None, None, None))),
            (T.RandomApply, "forward", lambda self, image: image),
            (T.Compose, "__call__", lambda self, image: image),
            (torch, "randperm", lambda count: torch.arange(count)),
            (F.F_t, "normalize", lambda tensor, *rest: tensor),
            (F, "pil_modes_mapping", dict.fromkeys(F.pil_modes_mapping, 0)),
            (F.F_pil, "resize", lambda image, *rest, **more: image.crop((0, 0, 5, 5))),
            (F.F_pil, "hflip", lambda image: image),
            (Image.Image, "resize", lambda image, *rest, **more: original(image.transpose(0), *rest, **more)),
            (Image.Image, "_new", lambda image, core: image),
            (T.Resize, "forward", lambda self, image: image.crop((0, 0, 5, 5))),
            (T.RandomResizedCrop, "get_params", staticmethod(lambda *rest: (1, 2, 30, 40))),
            (T.Normalize, "forward", lambda self, tensor: tensor),
            (T.ToTensor, "__call__", lambda self, image: torch.zeros(3, 2, 2)),
            (torch.nn.Module, "__call__", lambda self, image: self.forward(image)),
            (torch, "rand", lambda count: torch.zeros(count)),
        ):
            with self.subTest(name), mock.patch.object(owner, name, value):
                transforms = [T.RandomResizedCrop(30), T.Resize(28), T.CenterCrop(20), T.RandomHorizontalFlip(), T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)], 1.0), T.Compose([T.RandomGrayscale(1.0)])]
                self.assertEqualToTheirs([*transforms, T.ToTensor(), T.Normalize(MEAN, STD)], image, None)
        self.assertEqualToTheirs([T.Resize(30)], image, 0)
        hook = torch.nn.modules.module.register_module_forward_hook(lambda module, given, found: found.crop((0, 0, 5, 5)))
        self.assertEqualToTheirs([T.Resize(30)], image, 1)
        hook.remove()
        code = before.__code__
        before.__code__ = (lambda img, size, interpolation=2, max_size=None, antialias=True: img.crop((0, 0, 6, 6))).__code__
        try:
            self.assertEqualToTheirs([T.Resize(30)], image, 1)
        finally:
            before.__code__ = code
        with mock.patch.object(Image, "MAX_IMAGE_PIXELS", 100):
            self.assertEqualToTheirs([T.Resize(30), T.CenterCrop(20), T.RandomResizedCrop(25)], image, None)
        with mock.patch.object(pictures, "untrusted", {"crop"}):
            self.assertEqual(self.called(self.ours, T.Compose([T.Resize(30)]), image)[1], 0 if Recording.now.composes else 1)
            self.recording()
            self.assertEqual(self.called(self.ours, T.Compose([T.Resize(30)]), image)[1], 1)

    def test_what_does_not_wait(self):
        """Other pictures, tensors, and pictures that were made."""
        made = self.picture()
        made.getpixel((0, 0))
        late = self.picture()
        late._im.late = True
        palette, pixels = self.picture().convert("P"), Image.new("RGB", (40, 30), (9, 8, 7))
        for number, image in enumerate((made, late, palette, pixels, torch.ones(3, 40, 30), np.zeros((40, 30, 3), np.uint8))):
            with self.subTest(number):
                self.assertEqualToTheirs([T.Resize(20)], image, 1)
        Recording.now = None
        self.assertEqual(self.called(self.ours, T.Compose([T.Resize(20), T.ToTensor()]), pixels)[1], 2)

    def test_pillow_that_records_otherwise(self):
        """Where Pillow's own methods record something else, all is called."""
        resize = Image.Image.resize
        with mock.patch.object(Image.Image, "resize", types.FunctionType(resize.__code__, resize.__globals__, "resize", resize.__defaults__)):
            self.assertEqualToTheirs([T.Resize(20)], self.picture(), 1)  # another function
        self.put(T.Compose, "__call__", self.theirs)
        ours = _compose.wrap_call(T.transforms)
        self.recording()
        with mock.patch.object(_compose, "same_image", return_value=False):
            self.assertEqual(self.called(ours, T.Compose([T.Resize(20)]), self.picture())[1], 1)

    def test_installed(self):
        """In workers alone, of a text that is known, and not around what somebody has put there."""
        module = sys.modules["torchvision.transforms.transforms"]
        self.put(_compose, "_done", set())

        def installed(worker=True):
            with mock.patch.object(module.Compose, "__call__", self.theirs):
                _compose.install(worker)
                there = module.Compose.__call__ is not self.theirs
            _compose._done.clear()
            return there

        self.assertTrue(installed())
        self.assertFalse(installed(worker=False))
        with mock.patch.object(_compose, "_KNOWN", {"another version's"}):
            self.assertFalse(installed())
        forward = T.CenterCrop.forward

        @functools.wraps(forward)
        def wrapped(self, img):
            return forward(self, img)

        with mock.patch.object(T.CenterCrop, "forward", wrapped):  # it names the original, whose text is known
            self.assertFalse(installed())
        for owner, name, value in (
            (F, "crop", lambda img, top, left, height, width: img),
            (torch.nn.Module, "__call__", lambda self, image: image),
            (torch.nn.Module, "_call_impl", lambda self, image: image),
            (Image.Image, "_new", lambda self, core: self),
        ):
            with mock.patch.object(owner, name, value):
                self.assertFalse(installed())
        self.assertTrue(installed())


@unittest.skipIf(torch is None, "needs torch and torchvision")
class KnownTest(unittest.TestCase):
    """Text is known however it is documented, and by no other name."""

    def test_draws_wrapped(self):
        """Somebody's wrapper around get_params names the original, and is not taken for it."""
        original = T.RandomResizedCrop.get_params

        @functools.wraps(original)
        def wrapper(img, scale, ratio):
            return original(img, scale, ratio)

        self.assertEqual(_digests.digest(wrapper), "")
        self.assertEqual(_digests.digest(functools.partial(original)), "")
        self.assertEqual(_digests.digest(None), "")

    def test_text(self):
        def digest(source, name="f"):
            lines = source.splitlines(True)
            code = next(each for each in compile(source, "a", "exec").co_consts if isinstance(each, types.CodeType))
            return _digests.extract_text(code, lines)

        plain = "def f(a, b):\n    x = a\n    return x + b\n"
        documented = 'def f(a: int, b: int = 3) -> int:\n    """Adds."""\n\n    # a\n    x = a\n\n    return x + b\n'
        decorated = "@staticmethod\n" + documented
        self.assertEqual(digest(plain), digest(documented))
        self.assertEqual(digest(plain), digest(decorated))
        for other in (plain.replace("+", "-"), plain.replace("b", "c"), plain.replace("a, b", "b, a"), plain.replace("x = a", "x = a; y = 3")):
            self.assertNotEqual(digest(plain), digest(other))

    def test_places(self):
        home = types.SimpleNamespace(f=lambda: 1, g=lambda: 2, inner=types.SimpleNamespace(h=lambda: 3))
        places = _digests.Places((home, "f inner.h absent inner.absent"))
        self.assertTrue(places.is_unchanged() and places.has_same_code())
        home.g = None
        self.assertTrue(places.is_unchanged())
        before, home.inner.h = home.inner.h, lambda: 3
        self.assertFalse(places.is_unchanged())
        home.inner.h = before
        home.f.__code__ = (lambda: 4).__code__
        self.assertTrue(places.is_unchanged())
        self.assertFalse(places.has_same_code())
        del home.f
        self.assertFalse(places.is_unchanged())


@unittest.skipIf(torch is None, "needs torch and torchvision")
class OpeningTest(RecordingCase):
    """pil_loader of torchvision itself, and what stands for it."""

    def setUp(self):
        super().setUp()
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.theirs = mock.Mock(side_effect=folders.pil_loader)
        self.loader = opening._Loader(folders)
        self.addCleanup(headers._kept.clear)

    def file(self, data, name="a.jpg"):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def ours(self, *paths, **named):
        return self.loader(self.theirs, *paths, **named)

    def seen(self, load, path):
        """All that can be seen of what it gives."""
        found, said, _ = self.told(load, path)
        return looks(found), said, self.told(found.tobytes) if isinstance(found, Image.Image) else None

    def assertEqualToTheirs(self, path, calls):
        self.theirs.reset_mock()
        self.recording()
        found = self.seen(self.ours, path)
        if calls is not None:
            self.assertEqual(self.theirs.call_count, calls)
        self.recording()
        self.assertEqual(found, self.seen(folders.pil_loader, path))
        self.assertEqual(found[0][0], Image.Image)

    def test_known(self):
        self.assertIn(_digests.digest(folders.pil_loader), opening._KNOWN)

    def test_again(self):
        """The first of a kind is Pillow's, the others are made as it was, whatever their sides."""
        exif = Image.Exif()
        exif[0x0112] = 6
        for number, more in enumerate(({}, {"exif": exif, "dpi": (72, 72), "comment": b"c"}, {"icc_profile": b"p" * 99, "quality": 90}, {"progressive": True})):
            with self.subTest(number):
                self.assertEqualToTheirs(self.file(jpeg((40, 30), **more)), 1)
                for size in ((40, 30), (41, 29), (300, 2)):
                    path = self.file(jpeg(size, **more))
                    # Huffman tables of a progressive one are made for it: few are those of another
                    self.assertEqualToTheirs(path, None if "progressive" in more else 0)
                self.assertEqualToTheirs(pathlib.Path(path), 0)
                found = self.ours(path)
                found.info["mine"] = 1  # which no other image may see
                self.assertNotIn("mine", self.ours(path).info)

    def test_counted(self):
        path = self.file(jpeg())
        self.ours(path)
        now = self.recording()
        image = self.ours(path)
        self.assertEqual((now.tally.opened, now.is_used, len(now.files._sources)), (1, True, 1))
        self.assertIs(image._im.source, now.newest)
        self.assertIs(image._im.source.files, now.files)
        self.ours(path)
        self.assertEqual(now.files.end, 2 * os.path.getsize(path))

    def test_left_to_pillow(self):
        path = self.file(jpeg())
        for calls in (1, 0):
            self.assertEqualToTheirs(path, calls)
        pillow_open, load = Image.open, ImageFile.ImageFile.load
        other = jpeg((9, 9))
        accept = (Image.OPEN["JPEG"][0], lambda prefix: True)
        for name, change in {
            "an opener": mock.patch.object(Image, "open", lambda file: pillow_open(file).transpose(0)),
            "files": mock.patch.object(builtins, "open", lambda *rest: io.BytesIO(other)),
            "files of the module's": mock.patch.object(folders, "open", lambda *rest: io.BytesIO(other), create=True),
            "loading": mock.patch.object(ImageFile.ImageFile, "load", lambda image: load(image) and None),
            "converting": mock.patch.object(Image.Image, "convert", lambda image, mode: image.copy().transpose(0)),
            "of JPEGs alone": mock.patch.object(JpegImagePlugin.JpegImageFile, "convert", lambda image, mode: Image.new("RGB", (3, 3)), create=True),
            "markers": mock.patch.dict(JpegImagePlugin.MARKER, {0xFFE0: ("APP0", "", JpegImagePlugin.Skip)}),
            "large ones": mock.patch.object(Image, "MAX_IMAGE_PIXELS", 5000),
            "too large ones": mock.patch.object(Image, "MAX_IMAGE_PIXELS", 1000),
            "another that takes JPEGs": mock.patch.dict(Image.OPEN, {Image.ID[0]: accept}),
            "another kind in front": mock.patch.object(Image, "ID", ["JPEG2000", *Image.ID]),
        }.items():
            with self.subTest(name), change:
                self.theirs.reset_mock()
                self.recording()
                found = self.seen(self.ours, path)
                self.assertEqual(self.theirs.call_count, 1)
                self.recording()
                self.assertEqual(found, self.seen(folders.pil_loader, path))
        self.assertEqualToTheirs(path, 0)
        Recording.now = None
        self.theirs.reset_mock()
        self.assertEqual(looks(self.ours(path)), looks(folders.pil_loader(path)))
        self.assertEqual(self.theirs.call_count, 1)
        self.recording()
        self.assertEqual(self.seen(lambda each: self.ours(path=each), path), self.seen(folders.pil_loader, path))

    def test_errors(self):
        self.ours(self.file(jpeg()))
        for path in (os.path.join(self.folder, "absent.jpg"), self.folder, 3.5, None, "a\0b", self.file(b"", "empty.jpg"), self.file(b"\xff\xd8\xff", "short.jpg")):
            with self.subTest(path):
                self.assertEqual(self.told(self.ours, path), self.told(folders.pil_loader, path))
        with self.assertRaises(TypeError):
            self.ours()

    def test_odd_files(self):
        """Files of all kinds, some twice."""
        for _ in range(2):
            for name, data in deferred_odd.files().items():
                path = self.file(data, "odd")
                self.recording()
                found = self.seen(self.ours, path)
                self.recording()
                self.assertEqual(found, self.seen(folders.pil_loader, path), name)

    def test_damage(self):
        """Files whose headers and ends are damaged by chance."""
        chance = random.Random(5)
        self.enterContext(mock.patch.object(headers, "_TRIED", 1 << 20))
        self.enterContext(mock.patch.object(opening, "_TRIED", 1 << 20))
        files = [jpeg((90, 70), mode, **more) for mode in ("RGB", "L", "CMYK") for more in ({}, {"progressive": True}, {"subsampling": 0, "dpi": (72, 72)}, {"restart_marker_rows": 1})]
        count = 800
        for number in range(count):
            data = bytearray(chance.choice(files[:4] if number % 3 else files))
            frame = next(data.index(b"\xff" + name) for name in (b"\xc0", b"\xc2") if b"\xff" + name in data)
            if chance.random() < 0.5:
                data[frame + 5 : frame + 9] = bytes(chance.choice((0, 0, 1, 7)) if at % 2 == 0 else chance.choice((0, 1, 7, 99)) for at in range(4))
            for _ in range(chance.choice((0, 0, 0, 1))):
                at = chance.randrange(700) if chance.random() < 0.7 else chance.randrange(len(data))
                data[at : at + chance.choice((0, 1, 2))] = chance.choice((b"\xff", b"\x00", b"\xff\xd9", b"\xff\xda", bytes([chance.randrange(256)])))
            if chance.random() < 0.1:
                data = data[: chance.randrange(len(data))] if chance.random() < 0.5 else data + b"\0more"
            path = self.file(bytes(data))
            self.recording()
            found = self.told(self.ours, path)
            waits = isinstance(found[0], Image.Image)
            self.recording()
            expected = self.told(folders.pil_loader, path)
            self.assertEqual((looks(found[0]), found[1]), (looks(expected[0]), expected[1]))
            self.assertEqual(waits, isinstance(expected[0], Image.Image))
        self.assertLess(self.theirs.call_count, 0.7 * count)

    def test_given_up(self):
        """Where no header is like another, files are read once."""
        self.enterContext(mock.patch.object(opening, "_TRIED", 5))
        with mock.patch.object(_files.Files, "fill", autospec=True, side_effect=_files.Files.fill) as fill:
            for number in range(20):
                self.ours(self.file(jpeg(comment=b"%d" % number)))
        self.assertLess(fill.call_count, 8)

    def test_room(self):
        """What does not fit is left to Python's own files."""
        path = self.file(jpeg())
        self.ours(path)
        now = self.recording()
        self.ours(path)
        now.files.end = now.files.size - 10
        self.theirs.reset_mock()
        self.assertEqual(looks(self.ours(path)), looks(folders.pil_loader(path)))
        self.assertEqual(self.theirs.call_count, 1)

    def test_installed(self):
        self.enterContext(mock.patch.object(opening, "_done", set()))
        original = folders.pil_loader
        for known, worker in ((opening._KNOWN, False), ({"another version's"}, True), (opening._KNOWN, True)):
            with mock.patch.object(opening, "_KNOWN", known):
                opening.install(worker)
            self.assertEqual(folders.pil_loader is original, "loader" not in opening._done)
        self.assertIn("loader", opening._done)
        path = self.file(jpeg())
        self.recording()
        folders.default_loader(path)
        with mock.patch.object(opening._Loader, "reopen", autospec=True, side_effect=opening._Loader.reopen) as again:
            folders.default_loader(path)
        self.assertEqual(again.call_count, 1)
        pictures.uninstall()
        self.assertIs(folders.pil_loader, original)


@unittest.skipIf(torch is None, "needs torch and torchvision")
class OpenerTest(RecordingCase):
    """Image.open of Pillow itself, and what stands for it."""

    def setUp(self):
        super().setUp()
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.theirs = mock.Mock(side_effect=Image.open)
        self.opener = opening._Opener()
        self.addCleanup(headers._kept.clear)

    def ours(self, *given, **named):
        return self.opener(self.theirs, *given, **named)

    def given(self, data):
        """The ways in which a file is opened, each anew."""
        path = os.path.join(self.folder, "a.jpg")
        with open(path, "wb") as file:
            file.write(data)
        return {
            "path": lambda: path,
            "Path": lambda: pathlib.Path(path),
            "bytes": lambda: io.BytesIO(data),
            "stream": lambda: io.BufferedReader(io.BytesIO(data)),
        }

    def seen(self, load, make):
        """All that can be seen of what is opened, and what becomes of it."""
        file = make()
        if hasattr(file, "seek"):
            self.addCleanup(file.close)
            file.seek(2)  # where it stands does not matter
        self.recording()
        found, *said = self.told(load, file)
        if not isinstance(found, Image.Image):
            return re.sub("0x[0-9a-f]+", "", str(found)), said
        own = dict(vars(found))
        opened = own.pop("fp")
        own = {name: (type(value), value) for name, value in own.items() if found.format == "JPEG" or name in ("_mode", "_size", "filename")}
        facts = type(found), re.sub("0x[0-9a-f]+", "", repr(sorted(own.items()))), [type(each) for each in getattr(found, "tile", ()) or ()]
        of_file = type(opened), opened is file, opened.tell(), getattr(opened, "name", None)
        for each in (found.info, *(value for _, value in own.values() if isinstance(value, dict))):
            each["mine"] = 1  # which no other image may see
        converted = self.told(lambda: looks(found.convert("RGB")))
        closed = found.fp is None, opened.closed
        found.close()
        return facts, said, of_file, converted, closed

    def assertEqualToTheirs(self, make, calls=None):
        self.theirs.reset_mock()
        found = self.seen(self.ours, make)
        self.assertEqual(found, self.seen(Image.open, make))
        if calls is not None:
            self.assertEqual(self.theirs.call_count, calls)

    def test_again(self):
        exif = Image.Exif()
        exif[0x0112] = 6
        for number, more in enumerate(({}, {"exif": exif, "dpi": (72, 72), "comment": b"c"}, {"icc_profile": b"p" * 99, "quality": 90}, {"progressive": True})):
            for mode in ("RGB", "L", "CMYK"):
                for size in ((40, 30), (40, 30), (41, 29), (300, 2)):
                    for at, (name, make) in enumerate(self.given(jpeg(size, mode, **more)).items()):
                        with self.subTest(number, mode=mode, size=size, way=name):
                            self.assertEqualToTheirs(make)
        self.assertGreater(self.opener._found, 100)
        self.assertEqualToTheirs(self.given(jpeg((9, 8)))["path"], 0)

    def test_left_to_pillow(self):
        ways = self.given(jpeg())
        for make in ways.values():
            self.assertEqualToTheirs(make)
        accept = (Image.OPEN["JPEG"][0], lambda prefix: True)
        original = JpegImagePlugin.JpegImageFile._open
        other = jpeg((9, 9))
        for name, change in {
            "files": mock.patch.object(builtins, "open", lambda *rest: io.BytesIO(other)),
            "an opener": mock.patch.object(Image, "open", lambda file: original(file)),
            "headers": mock.patch.object(JpegImagePlugin.JpegImageFile, "_open", lambda image: original(image)),
            "the factory": mock.patch.dict(Image.OPEN, {"JPEG": (lambda *rest: accept[0](*rest), JpegImagePlugin._accept)}),
            "markers": mock.patch.dict(JpegImagePlugin.MARKER, {0xFFE0: ("APP0", "", JpegImagePlugin.Skip)}),
            "large ones": mock.patch.object(Image, "MAX_IMAGE_PIXELS", 5000),
            "too large ones": mock.patch.object(Image, "MAX_IMAGE_PIXELS", 1000),
            "another that takes JPEGs": mock.patch.dict(Image.OPEN, {Image.ID[0]: accept}),
            "another kind in front": mock.patch.object(Image, "ID", ["JPEG2000", *Image.ID]),
            "other blocks": mock.patch.object(ImageFile, "MAXBLOCK", 1 << 20),
        }.items():
            for way, make in ways.items():
                if name == "an opener":
                    continue
                with self.subTest(name, way=way), change:
                    self.assertEqualToTheirs(make, None if name == "other blocks" else 1)
        for make in ways.values():
            self.assertEqualToTheirs(make)
            self.assertEqualToTheirs(make, 0)
            self.recording()
            self.assertEqual(self.told(lambda: self.ours(make(), "r").size), self.told(lambda: Image.open(make(), "r").size))
            self.assertEqual(self.told(lambda: self.ours(make(), formats=["PNG"]).size)[0][:20], self.told(lambda: Image.open(make(), formats=["PNG"]).size)[0][:20])
            Recording.now = None
            self.theirs.reset_mock()
            self.ours(make()).close()
            self.assertEqual(self.theirs.call_count, 1)

    def test_errors(self):
        self.assertEqualToTheirs(self.given(jpeg())["path"])
        closed = io.BytesIO(jpeg())
        closed.close()
        for file in (os.path.join(self.folder, "absent.jpg"), self.folder, 3.5, None, "a\0b", closed, io.StringIO("a"), io.BytesIO(), io.BytesIO(b"\xff\xd8\xff")):
            with self.subTest(file):
                self.recording()
                found = self.told(self.ours, file)
                self.recording()
                self.assertEqual(found, self.told(Image.open, file))

    def test_odd_files(self):
        for number, (name, data) in enumerate(deferred_odd.files().items()):
            ways = self.given(data)
            way = list(ways)[number % 2 * 2]
            for _ in range(2 if ".jpeg" in name else 1):
                with self.subTest(name, way=way):
                    self.opener._misses = 0
                    self.assertEqualToTheirs(ways[way])

    def test_installed(self):
        self.enterContext(mock.patch.object(opening, "_done", set()))
        original = Image.open
        opening.install(False)
        self.assertIs(Image.open, original)
        opening.install(True)
        opener = next(cell.cell_contents for cell in Image.open.__closure__ if isinstance(cell.cell_contents, opening._Opener))
        for make in (*self.given(jpeg()).values(), *self.given(jpeg((33, 44))).values()):
            self.recording()
            with Image.open(make()) as image, mock.patch.object(Recording, "now", None):
                pass
            self.assertEqual(image.format, "JPEG")
        self.assertGreater(opener._found, 3)
        pictures.uninstall()
        self.assertIs(Image.open, original)


MAKERS, CHANGES, CALLS = {}, {}, ()
if torch is not None:
    MAKERS = {
        T.Resize: lambda: T.Resize(30),
        T.CenterCrop: lambda: T.CenterCrop(25),
        T.RandomResizedCrop: lambda: T.RandomResizedCrop(28),
        T.RandomHorizontalFlip: lambda: T.RandomHorizontalFlip(),
        T.Normalize: lambda: T.Normalize(MEAN, STD),
        T.ColorJitter: lambda: T.ColorJitter(0.4, 0.4, (0.2, 3), 0.1),
        T.RandomGrayscale: lambda: T.RandomGrayscale(0.5),
        T.RandomApply: lambda: T.RandomApply([T.Resize(30), T.ColorJitter(0.5), T.RandomHorizontalFlip()], 0.7),
        T.Compose: lambda: T.Compose([T.ColorJitter(saturation=0.5), T.RandomApply(torch.nn.ModuleList([T.RandomGrayscale(0.9)]))]),
        T.PILToTensor: lambda: T.PILToTensor(),
        T.ConvertImageDtype: lambda: T.ConvertImageDtype(torch.float32),
    }
    CHANGES = {
        "size": "sides", "max_size": "sides", "interpolation": "modes", "antialias": "numbers", "p": "numbers", "mean": "lists", "std": "lists", "scale": "lists", "ratio": "lists", "inplace": "numbers",
        "brightness": "ranges", "contrast": "ranges", "saturation": "ranges", "hue": "ranges", "transforms": "groups", "dtype": "dtypes",
    }  # fmt: skip
    CALLS = tuple((kind, "forward" if issubclass(kind, torch.nn.Module) else "__call__") for kind in (*MAKERS, T.ToTensor) if kind is not T.Compose)


@unittest.skipIf(torch is None, "needs torch and torchvision")
class NamesTest(unittest.TestCase):
    def test_torchs_attributes_stay(self):
        """What a deferred tensor has besides torch's methods hides none of torch's attributes, such as real."""
        recorded = {"as_subclass", "permute", "requires_grad_", "unsqueeze", "view"}
        own = {name for name in vars(tensors.DeferredTensor) if name[0] != "_"} - recorded
        self.assertEqual(own & {*dir(torch.Tensor)}, set())


if __name__ == "__main__":
    unittest.main()
