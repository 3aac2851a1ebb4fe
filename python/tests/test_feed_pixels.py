"""The whole way with the real daemon: its bytes are those of Pillow and torchvision.

Needs STOKER_BIN or bin/stoker (make build), torch, torchvision and Pillow.
"""

import gc
import io
import os
import signal
import subprocess
import tempfile
import unittest
import warnings

try:
    import numpy as np
    import torch
    from PIL import Image
    from torchvision import transforms as T
    from torchvision.datasets import ImageFolder
    from torchvision.transforms import InterpolationMode
    from torchvision.transforms import functional as F
except ImportError:
    torch = None

from feed_fixture import children

import stoker
from stoker import _order

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def missing():
    """Why these tests cannot run here."""
    if torch is None:
        return "needs torch, torchvision and Pillow"
    try:
        binary = stoker.find_binary()
        feeds = subprocess.run([binary, "feed", "--help"], capture_output=True, check=False).returncode == 0
    except (stoker.StokerError, OSError) as error:
        return str(error)
    return "" if feeds else f"{binary} has no feed: run `make build`"


def picture(random, width, height, mode="RGB"):
    """Smooth areas, edges and noise, as photographs have them."""
    channels = {"RGB": 3, "L": 1, "CMYK": 4, "RGBA": 4, "LA": 2}[mode]
    rough = Image.fromarray(random.integers(0, 256, (height // 16 + 2, width // 16 + 2, 3), dtype=np.uint8))
    base = np.asarray(rough.resize((width, height), Image.BICUBIC), dtype=np.int16)
    base = np.concatenate([base, base[:, :, ::-1]], 2)[:, :, :channels]
    noisy = base + random.integers(-12, 13, base.shape)
    noisy[height // 3 :, width // 2 :] = 255 - noisy[height // 3 :, width // 2 :]
    pixels = np.clip(noisy, 0, 255).astype(np.uint8)
    return Image.fromarray(pixels[:, :, 0] if channels == 1 else pixels, mode)


def kinds(random):
    """(name, bytes) of files of many kinds and sizes; the names say which."""
    def saved(image, form, **settings):
        out = io.BytesIO()
        image.save(out, form, **settings)
        return out.getvalue()

    sizes = [(500, 375), (375, 500), (224, 224), (333, 251), (97, 431), (640, 63), (17, 19), (1, 1), (3, 200), (1023, 769)]
    for width, height in sizes:
        rgb = picture(random, width, height)
        size = f"{width}x{height}"
        for name, settings in {
            "420": {"quality": 85},
            "422": {"quality": 92, "subsampling": 1},
            "444": {"quality": 95, "subsampling": 0},
            "coarse": {"quality": 12},
            "progressive": {"quality": 80, "progressive": True},
            "restarts": {"quality": 75, "restart_marker_rows": 2},
            "optimised": {"quality": 90, "optimize": True},
        }.items():
            yield f"{name}-{size}.jpg", saved(rgb, "JPEG", **settings)
        exif = Image.Exif()
        exif[0x0112] = 6  # turned by 90 degrees, which torchvision does not look at
        yield f"turned-{size}.jpg", saved(rgb, "JPEG", quality=88, exif=exif)
        yield f"grey-{size}.jpg", saved(picture(random, width, height, "L"), "JPEG", quality=85)
        yield f"cmyk-{size}.jpg", saved(picture(random, width, height, "CMYK"), "JPEG", quality=85)
        yield f"png-{size}.png", saved(rgb, "PNG")
        yield f"pnggrey-{size}.png", saved(picture(random, width, height, "L"), "PNG")
        yield f"pngpalette-{size}.png", saved(rgb.quantize(64), "PNG")
        yield f"pngalpha-{size}.png", saved(picture(random, width, height, "RGBA"), "PNG")
        yield f"misnamed-{size}.jpg", saved(rgb, "PNG")
        yield f"bmp-{size}.bmp", saved(rgb, "BMP")


WHY = missing()


@unittest.skipIf(WHY, WHY)
class DaemonCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.root = os.path.join(cls.folder.name, "images")
        random = np.random.default_rng(7)
        for number, (name, data) in enumerate(kinds(random)):
            at = os.path.join(cls.root, "ab"[number % 2])
            os.makedirs(at, exist_ok=True)
            with open(os.path.join(at, name), "wb") as file:
                file.write(data)

    def setUp(self):
        catch = warnings.catch_warnings()
        catch.__enter__()
        self.addCleanup(catch.__exit__, None, None, None)
        warnings.filterwarnings("ignore", "3 batches are kept", stoker.StokerWarning)

    def loader(self, *steps, **settings):
        self.dataset = ImageFolder(self.root, T.Compose(steps))
        loader = stoker.DataLoader(self.dataset, **{"batch_size": 16, "seed": 11, **settings})
        self.addCleanup(loader.close)
        self.assertTrue(loader.translated)
        return loader

    def compare(self, loader, expected, difference):
        """difference(got, want) per sample, of all files where it is not 0."""
        wrong = {}
        for images, labels in loader:
            for image, label, index in zip(images, labels, loader.indices.tolist()):
                path, target = self.dataset.samples[index]
                self.assertEqual(label, target)
                with Image.open(path) as file:
                    want = expected(file.convert("RGB"), index)
                off = difference(image, want)
                if off:
                    wrong[os.path.basename(path)] = off
        self.assertTrue(loader.report["exactly_once"])
        return wrong


def bytes_off(got, want):
    return int((got != want).sum())


def ulps_off(got, want):
    """The largest distance in steps of float32."""
    a, b = (value.contiguous().view(torch.int32).to(torch.int64) for value in (got, want))
    ordered = [torch.where(value < 0, -(value & 0x7FFFFFFF), value) for value in (a, b)]
    return int((ordered[0] - ordered[1]).abs().max())


class PixelsTest(DaemonCase):
    def test_resize_and_centre(self):
        for name in (InterpolationMode.BILINEAR, InterpolationMode.BICUBIC):
            steps = [T.Resize(48, interpolation=name), T.CenterCrop((40, 56)), T.PILToTensor()]
            loader = self.loader(*steps, max_bad=0.001)
            expected = T.Compose(steps)
            self.assertEqual(self.compare(loader, lambda image, _: expected(image), bytes_off), {})

    def test_random_crops(self):
        loader = self.loader(T.RandomResizedCrop(64), T.RandomHorizontalFlip(), T.PILToTensor(), shuffle=True)

        def expected(image, index):
            left, top, width, height = _order.resized_crop(_order.Draws(11, epoch, index, 0), *image.size)
            image = F.resized_crop(image, top, left, height, width, [64, 64])
            image = F.hflip(image) if _order.flip(_order.Draws(11, epoch, index, 1)) else image
            return F.pil_to_tensor(image)

        for epoch in range(2):
            self.assertEqual(self.compare(loader, expected, bytes_off), {})

    def test_padded_crops(self):
        loader = self.loader(T.RandomCrop(32, padding=4, pad_if_needed=True, fill=(9, 8, 7)), T.RandomVerticalFlip(), T.PILToTensor(), channels_last=True)

        def expected(image, index):
            width, height = image.size[0] + 8, image.size[1] + 8
            more_x, more_y = max(0, 32 - width), max(0, 32 - height)
            image = F.pad(image, [4 + more_x, 4 + more_y], fill=(9, 8, 7))
            if image.size != (32, 32):
                left, top, w, h = _order.crop(_order.Draws(11, 0, index, 0), *image.size, 32, 32)
                image = F.crop(image, top, left, h, w)
            image = F.vflip(image) if _order.flip(_order.Draws(11, 0, index, 1)) else image
            return F.pil_to_tensor(image)

        self.assertEqual(self.compare(loader, expected, bytes_off), {})

    def test_floats(self):
        steps = [T.Resize((50, 41)), T.ToTensor(), T.Normalize(MEAN, STD)]
        expected = T.Compose(steps)
        far = self.compare(self.loader(*steps), lambda image, _: expected(image), ulps_off)
        self.assertLessEqual(max(far.values(), default=0), 2)
        for dtype in (torch.float16, torch.bfloat16):
            near = {"rtol": 2e-3 if dtype == torch.float16 else 1e-2, "atol": 1e-3}
            loader = self.loader(*steps, dtype=dtype)
            off = self.compare(loader, lambda image, _: expected(image), lambda got, want: not torch.allclose(got.float(), want, **near))
            self.assertEqual(off, {})

    def test_normalize_behind_the_ring(self):
        steps = [T.Resize((50, 41)), T.ToTensor(), T.Normalize(MEAN, STD)]
        expected = T.Compose(steps)
        loader = self.loader(*steps, device="cpu", normalize_on_device=True)
        off = self.compare(loader, lambda image, _: expected(image), lambda got, want: not torch.equal(got, want))
        self.assertEqual(off, {})

    def test_fast_is_near(self):
        steps = [T.Resize((64, 64)), T.PILToTensor()]
        expected = T.Compose(steps)
        off = self.compare(self.loader(*steps, fast=True), lambda image, _: expected(image), lambda got, want: (got.float() - want.float()).abs().mean().item())
        usual = [value for name, value in off.items() if not name.startswith("cmyk")]
        self.assertLess(float(np.mean(usual or [0.0])), 3)


class LifeTest(DaemonCase):
    """What only the real daemon can show."""

    def test_state_goes_on_anywhere(self):
        steps = [T.RandomResizedCrop(32), T.PILToTensor()]
        loader = self.loader(*steps, shuffle=True)
        iteration = iter(loader)
        for _ in range(4):
            next(iteration)
        state = loader.state_dict()
        rest = []
        for images, _ in iteration:
            rest += [(index, image.clone()) for index, image in zip(loader.indices.tolist(), images)]
        other = self.loader(*steps, shuffle=True, seed=1, batch_size=7)
        other.load_state_dict(state)
        found = []
        for images, _ in other:
            found += [(index, image.clone()) for index, image in zip(other.indices.tolist(), images)]
        self.assertEqual([index for index, _ in rest], [index for index, _ in found])
        self.assertTrue(all(torch.equal(a, b) for (_, a), (_, b) in zip(rest, found)))

    def test_samplers_tell_the_order(self):
        """Who builds a loader around batch_sampler gets the samples that this one would have handed out."""
        for settings in ({}, {"shuffle": True}, {"shuffle": True, "drop_last": True}, {"shuffle": True, "rank": 1, "world": 3, "tail": "short"}):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                loader, other = (self.loader(T.CenterCrop(32), T.PILToTensor(), **settings) for _ in range(2))
            for _ in range(2):
                told = list(other.batch_sampler)
                self.assertEqual(len(other.sampler), sum(map(len, told)))
                self.assertEqual(told, [loader.indices.tolist() for _ in loader])
            state = loader.state_dict()
            loader.set_epoch(9)
            iteration = iter(loader)
            next(iteration)
            other.load_state_dict(loader.state_dict())
            self.assertEqual(list(other.batch_sampler), [loader.indices.tolist() for _ in iteration])
            self.assertEqual(state["epoch"], 2)

    def test_labels_and_files_of_the_data_set(self):
        """As torch's own loader gives them, to the byte, after every kind of change."""
        steps = [T.Resize((50, 41)), T.PILToTensor()]
        loader = self.loader(*steps)
        torchs = torch.utils.data.DataLoader(self.dataset, 16)
        samples = self.dataset.samples
        for changed in (
            samples,
            [(path, 9 - label) for path, label in samples],
            samples[::-1],
            samples[3:20] * 3,
            [(os.path.relpath(path), -1) for path, _ in samples],
        ):
            self.dataset.samples = changed
            for (images, labels), (own_images, own_labels) in zip(loader, torchs, strict=True):
                self.assertTrue(torch.equal(images, own_images) and torch.equal(labels, own_labels))
            self.assertTrue(loader.translated and loader.report["exactly_once"])

    def test_two_iterations_at_a_time(self):
        loader = self.loader(T.CenterCrop(32), T.PILToTensor(), shuffle=True)
        pairs, orders = list(zip(loader, loader, strict=True)), [[], []]
        self.assertEqual(len(pairs), len(loader))
        for pair in pairs:
            for order, (images, _) in zip(orders, pair):
                order += [tuple(image.flatten()[:9].tolist()) for image in images]
        self.assertEqual(len(orders[0]), len(self.dataset))
        self.assertNotEqual(orders[0], orders[1])  # two epochs

    def test_too_many_bad_samples_in_all(self):
        broken = [os.path.join(self.root, "a", f"torn{number}.jpg") for number in range(3)]
        for path in broken:
            with open(path, "wb") as torn:
                torn.write(b"\xff\xd8\xff\xe0 torn")
            self.addCleanup(os.unlink, path)
        warnings.simplefilter("ignore")
        loader = self.loader(T.CenterCrop(32), T.PILToTensor(), on_error="mask", batch_size=1)
        seen = []
        for _ in range(5):  # a job that restarts after each failure
            with self.assertRaisesRegex(stoker.StokerError, "[23] bad samples in epoch 0"):
                for _ in loader:
                    seen += loader.indices.tolist()
            state = loader.state_dict()
            self.assertEqual(state["bad"], 1)
            loader.close()
            loader = self.loader(T.CenterCrop(32), T.PILToTensor(), on_error="mask", batch_size=1)
            loader.load_state_dict(state)
        self.assertEqual(sorted(set(seen)), seen)

    def test_kill_and_go_on(self):
        before = set(children())
        loader = self.loader(T.RandomResizedCrop(32), T.PILToTensor(), shuffle=True)
        seen = []
        with self.assertRaises(stoker.StokerError):
            for _ in loader:
                seen += loader.indices.tolist()
                if len(seen) == 64:
                    (pid,) = set(children()) - before
                    os.kill(pid, signal.SIGKILL)
                    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        for _ in loader:
            seen += loader.indices.tolist()
        self.assertEqual(sorted(seen), list(range(len(self.dataset))))

    def test_bad_samples(self):
        broken = os.path.join(self.root, "a", "torn.jpg")
        with open(os.path.join(self.root, "a", "420-500x375.jpg"), "rb") as whole, open(broken, "wb") as torn:
            torn.write(whole.read()[:4000])
        self.addCleanup(os.unlink, broken)
        steps = [T.CenterCrop(32), T.PILToTensor()]
        with self.assertRaisesRegex(stoker.StokerError, "torn.jpg"):
            for _ in self.loader(*steps):
                pass
        for policy in ("substitute", "mask"):
            loader = self.loader(*steps, on_error=policy, max_bad=0.5)
            learned = 0
            with self.assertWarnsRegex(stoker.StokerWarning, "torn.jpg"):
                for _ in loader:
                    learned += int(loader.mask.sum())
            self.assertEqual([os.path.basename(bad["path"]) for bad in loader.report["bad_samples"]], ["torn.jpg"])
            self.assertEqual(learned, len(self.dataset) - (policy == "mask"))

    def test_daemon_ends_with_its_loaders(self):
        before = set(children())
        loader = self.loader(T.CenterCrop(32), T.PILToTensor())
        next(iter(loader))
        self.assertEqual(len(set(children()) - before), 1)
        loader.close()
        del loader
        gc.collect()
        for _ in range(500):
            if set(children()) <= before:
                break
            signal.sigtimedwait([], 0.01)
        self.assertLessEqual(set(children()), before)


if __name__ == "__main__":
    unittest.main()
