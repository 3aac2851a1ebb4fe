"""The whole way with the real daemon: its bytes are those of Pillow and torchvision.

Needs STOKER_BIN or bin/stoker (make build), torch, torchvision and Pillow.
"""

import contextlib
import errno
import gc
import io
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import unittest
import warnings
from unittest import mock

try:
    import numpy as np
    import torch
    from PIL import Image
    from torchvision import transforms as T
    from torchvision.datasets import ImageFolder
    from torchvision.transforms import InterpolationMode
    from torchvision.transforms import functional as F

    from stoker.daemon import session as _feed
    from stoker.loader import fallback, position
    from stoker.loader import order as _order
except ImportError:
    torch = None

from feed_fixture import children
from private_folder import private_folder

import stoker

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


# One rank of two, which goes on in step with the other; the first has the daemon killed or stopped on its way.
RANK = """
import hashlib, json, os, signal, sys, time
from torch.utils.data import Subset
from torchvision import transforms as T
from torchvision.datasets import ImageFolder
import stoker
rank, go, number = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
folder = ImageFolder(%r, T.Compose([T.RandomResizedCrop(32), T.ToTensor(), T.Normalize(%r, %r)]))
few = [i for i, (path, _) in enumerate(folder.samples) if "17x19" in path]
loader = stoker.DataLoader(Subset(folder, few), 2, shuffle=True, seed=3)
def meet(what):
    open(go + what + str(rank), "w").close()
    while not os.path.exists(go + what + str(1 - rank)): time.sleep(0.001)
seen, reports = [], []
for epoch in range(2):
    for step, (images, labels) in enumerate(loader):
        seen.append(hashlib.sha256(images.numpy().tobytes() + labels.numpy().tobytes()).hexdigest()[:16] + str(loader.indices.tolist()) + str(loader.state_dict()))
        meet(f"{epoch}-{step}")
        if (epoch, step) == (0, 1) and number:
            if daemon := loader._feeder._session._daemon._end.peek()[2][1]:
                os.kill(daemon.pid, number)
            meet("killed")
    del images, labels
    reports.append(loader.report)
    meet(f"{epoch}")
print(json.dumps([seen, reports]))
loader.close()
"""


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
            self.assertLessEqual(state["bad"], 1)  # 0 where the second one was decoded first
            loader.close()
            loader = self.loader(T.CenterCrop(32), T.PILToTensor(), on_error="mask", batch_size=1)
            loader.load_state_dict(state)
        self.assertEqual(sorted(set(seen)), seen)
        torn = [index for index in seen if self.dataset.samples[index][0] in broken]
        self.assertLessEqual(len(torn), 1, "all starts together share one budget")

    def training(self, kill=(), number=signal.SIGKILL, **settings):
        """What two epochs give: batches, states, reports, and the random numbers behind them; the daemon is killed at some moments."""
        before = set(children())
        torch.manual_seed(1)
        folder = ImageFolder(self.root, T.Compose([T.RandomResizedCrop(32), T.ToTensor(), T.Normalize(MEAN, STD)]))
        few = [i for i, (path, _) in enumerate(folder.samples) if "17x19" in path or "torn" in path]
        loader = stoker.DataLoader(torch.utils.data.Subset(folder, few), 2, shuffle=True, seed=11, **settings)
        seen, moment = [], 0
        for _ in range(2):
            for images, labels in loader:
                seen.append((images.numpy().tobytes(), labels.tolist(), loader.indices.tolist(), loader.mask.tolist(), loader.state_dict()))
                images.zero_()
                if moment in kill:
                    (pid,) = set(children()) - before
                    os.kill(pid, number)
                    if number == signal.SIGKILL:
                        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
                moment += 1
            del images
            seen.append(loader.report)
        loader.close()
        return seen, torch.rand(2).tolist(), np.random.get_state()[2], random.getstate()

    def test_kill_and_go_on(self):
        """Batches, states, reports and random numbers are those of a training whose daemon lives, the account of each sample too."""
        for settings in ({}, {"device": "cpu", "normalize_on_device": True}, {"on_error": "mask", "max_bad": 0.5}):
            if "on_error" in settings:
                for name in ("torn.jpg", "torn2.jpg"):
                    with open(os.path.join(self.root, "a", name), "wb") as torn:
                        torn.write(b"\xff\xd8\xff\xe0 torn")
                    self.addCleanup(os.unlink, torn.name)
                warnings.simplefilter("ignore")
            plain = self.training(**settings)
            self.assertIs(plain[0][-1]["exactly_once"], True)
            self.assertEqual(len(plain[0][-1]["bad_samples"]), 2 if "on_error" in settings else 0)
            last = len(plain[0]) // 2 - 2
            for kill in ({0, 3}, {last - 1, last + 1}, {last}):
                with self.subTest(kill=kill, settings=settings), contextlib.redirect_stderr(io.StringIO()) as said:
                    self.assertEqual(self.training(kill, **settings), plain)
                self.assertIn(said.getvalue().count("another daemon goes on"), range(1, len(kill) + 1))
        with mock.patch.dict(os.environ, STOKER_FEED_PATIENCE="0.5"), contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(self.training({2}, signal.SIGSTOP, **settings), plain)

    def test_without_a_daemon(self):
        """Pillow goes on where no daemon can be had any more: the same bytes, states and account."""
        few = T.RandomResizedCrop(32), T.RandomHorizontalFlip()
        for number, (steps, settings) in enumerate((
            ((*few, T.ToTensor(), T.Normalize(MEAN, STD)), {}),
            ((T.Resize(40), T.CenterCrop(36), T.ToTensor()), {"dtype": "bfloat16", "channels_last": True}),
            ((T.Resize(20, max_size=50), T.RandomCrop(24, padding=3, pad_if_needed=True, fill=7), T.ToTensor()), {"dtype": "float16"}),
            ((T.RandomVerticalFlip(), T.CenterCrop(30), T.PILToTensor()), {"drop_last": True, "on_error": "substitute", "max_bad": 0.5}),
        )):  # fmt: skip
            seen = {}
            for without in (0, 2 + number % 2, 1 << 30):  # sessions that cannot be had: it comes back in that epoch, in the next, or never
                folder = ImageFolder(self.root, T.Compose(steps))
                several = [i for i, (path, _) in enumerate(folder.samples) if "333x251" in path]
                loader = stoker.DataLoader(torch.utils.data.Subset(folder, several), 3, shuffle=True, seed=5, **settings)
                with contextlib.redirect_stderr(io.StringIO()) as said:
                    seen[without] = self.without(loader, without)
                self.assertEqual("Pillow makes the batches" in said.getvalue(), without > 0, said.getvalue())
                self.assertEqual(seen[without], seen[0])
                self.assertEqual(loader._feeder._is_by_pillow(), without > 3)
                loader.close()
            self.assertIs(seen[0][-1]["exactly_once"], True)

    def without(self, loader, without):
        """What two epochs give; without: behind the first batch no daemon can be had so many times."""
        seen, bits = [], {1: torch.uint8, 2: torch.int16, 4: torch.int32}
        left, session = [without], position.Session

        def seldom(*arguments):
            left[0] -= 1
            if left[0] >= 0:
                raise _feed.Gone("there is none")
            return session(*arguments)

        with contextlib.ExitStack() as stack:
            for epoch in range(2):
                for number, (images, labels) in enumerate(loader):
                    looks = images.shape, images.stride(), images.dtype
                    seen.append((*looks, images.view(bits[images.itemsize]).tolist(), labels.tolist(), loader.indices.tolist(), loader.state_dict()))
                    if without and (epoch, number) == (0, 0):
                        stack.enter_context(mock.patch.object(position, "Session", seldom))
                        loader._feeder._session._daemon.give_up()
                del images
                seen.append(loader.report)
        return seen

    def test_without_a_daemon_or_descriptors(self):
        """What this process lacks is no sample's fault either: nothing stands in for it, and the error is the script's own."""
        for policy in ("substitute", "mask"):
            loader = self.loader(T.CenterCrop(30), T.PILToTensor(), on_error=policy, max_bad=1.0, depth=2, batch_size=4)
            iteration = iter(loader)
            next(iteration)
            loader._feeder._session._daemon.give_up()
            with contextlib.ExitStack() as stack:
                stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
                stack.enter_context(mock.patch.object(position, "Session", side_effect=_feed.Gone("there is none")))
                stack.enter_context(mock.patch("PIL.Image.open", side_effect=OSError(errno.EMFILE, "Too many open files")))
                caught = stack.enter_context(self.assertRaises(OSError))
                for _ in iteration:
                    pass
            self.assertEqual(caught.exception.errno, errno.EMFILE)
            loader.close()

    def test_listed_without_a_daemon(self):
        """The folder of a stoker.Loader is listed here as the daemon has it."""
        ops = [{"op": "center_crop", "size": [9, 9]}, {"op": "pil_to_tensor"}]
        for samples in (None, [5, 3, 9]):
            with stoker.Loader(self.root, ops, batch_size=2, samples=samples) as loader:
                opened = loader._feeder.open().opened
                files = fallback._list_folder(loader._feeder.spec, opened["manifest"])
            self.assertEqual(files, ImageFolder(self.root).samples)

    def test_kill_under_ranks(self):
        """Two ranks on one daemon: each goes on with its own samples, and what both saw is the epoch."""
        source = RANK % (self.root, MEAN, STD)
        with private_folder() as place:
            environment = {**os.environ, "XDG_RUNTIME_DIR": place, "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_PORT": "1", "PYTHONPATH": os.pathsep.join(sys.path), "STOKER_BIN": stoker.find_binary()}
            found = {}
            for number in (0, signal.SIGKILL, signal.SIGSTOP):
                go = os.path.join(place, str(number))
                ranks = [
                    subprocess.Popen([sys.executable, "-W", "ignore", "-c", source, str(rank), go, str(int(number))], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                     env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank), "STOKER_FEED_PATIENCE": "1"})
                    for rank in (0, 1)
                ]  # fmt: skip
                said = [rank.communicate() for rank in ranks]
                self.assertEqual([rank.returncode for rank in ranks], [0, 0], said)
                found[number] = [json.loads(out) for out, _ in said]
                for epoch in (0, 1):  # which of the two was the last one is chance
                    once = [reports[epoch].pop("exactly_once") for _, reports in found[number]]
                    self.assertIn(True, once)
                    self.assertNotIn(False, once)
                self.assertEqual(found[number], found[0])
                self.assertEqual([err.count("another daemon goes on") for _, err in said], [1, 1] if number else [0, 0])

    def test_no_descriptor(self):
        """A daemon without descriptors reads file by file: no sound file is a bad sample under any policy."""
        for policy in ("fail", "substitute", "mask"):
            with self.subTest(policy):
                before = set(children())
                loader = self.loader(T.CenterCrop(32), T.PILToTensor(), on_error=policy, max_bad=1.0, depth=2, batch_size=4)
                seen, learned = [], 0
                for _ in loader:
                    if not seen:
                        (pid,) = set(children()) - before
                        most = max(map(int, os.listdir(f"/proc/{pid}/fd"))) + 1
                        resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, most))
                    seen += loader.indices.tolist()
                    learned += int(loader.mask.sum())
                self.assertEqual((seen, learned), (list(range(len(self.dataset))), len(self.dataset)))
                self.assertEqual(loader.report["bad"], 0)
                loader.close()

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

    def test_what_pillow_alone_reads(self):
        """A picture of another format is no bad sample: Pillow makes its batch, whatever its name says."""
        misnamed = os.path.join(self.root, "a", "webp-333x251.jpg")
        picture(np.random.default_rng(3), 333, 251).save(misnamed, "WEBP", quality=80)
        self.addCleanup(os.unlink, misnamed)
        steps = [T.CenterCrop(32), T.PILToTensor()]
        for policy in ("fail", "substitute", "mask"):
            with contextlib.redirect_stderr(io.StringIO()) as said:
                loader = self.loader(*steps, on_error=policy)
                self.assertEqual(self.compare(loader, lambda image, _: T.Compose(steps)(image), bytes_off), {})
            self.assertRegex(said.getvalue(), "webp-333x251.jpg: .*type WebP.*Pillow makes the batches")
            self.assertEqual(loader.report["bad"], 0)
        with_name = misnamed.replace(".jpg", ".webp")
        os.link(misnamed, with_name)
        self.addCleanup(os.unlink, with_name)
        with self.assertWarnsRegex(stoker.StokerWarning, "webp-333x251.webp is no JPEG or PNG"):
            loader = stoker.DataLoader(ImageFolder(self.root, T.Compose(steps)), 16)
        self.assertFalse(loader.translated)

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
