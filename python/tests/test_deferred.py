"""Deferred pictures: what a fed DataLoader gives is what the unchanged one gives."""

import contextlib
import copy
import hashlib
import io
import itertools
import json
import multiprocessing
import multiprocessing.forkserver
import multiprocessing.resource_tracker
import os
import pickle
import random
import resource
import socket
import subprocess
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import leash
from feed_fixture import let_go

try:
    import deferred_pipelines as pipelines
    import numpy
    import torch
    import torchvision

    from stoker.daemon import files as _files
    from stoker.daemon import room as _room
    from stoker.deferred import deferring, payoff
    from stoker.deferred.materialize import line as _line
    from stoker.deferred.materialize import dispatch
    from stoker.deferred.recipes import headers, jpeg, pictures, replacements, share
    from stoker.deferred.torchvision import draws
    from stoker.handover import memory, receiving
except ImportError:
    torch = None

HERE = os.path.dirname(os.path.abspath(__file__))

# Where nothing is made by the daemon: pixels or arrays are asked for at once, by threads of the program's own, no JPEG
# is asked for, or the program's code would see that a tensor waits.
REAL = {
    *("threads", "touched", "pictures", "pasted", "deep copies", "numpy", "tensors of arrays", "arrays", "bands backwards", "viewed"),
    *("pictures of arrays", "flagged", "extension", "png", "png broken", "drafted"),
}

# Where nothing is asked for before the batch is there.
WAITING = {"folder", "reference", "v2", "VAR", "LeRobot", "v2 cuts", "moco", "on canvas", "mosaic", "deep copy"}



def setUpModule():
    if torch is None:
        return
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    DeferredCase.root = folder.name
    done = subprocess.run([sys.executable, "-W", "ignore", os.path.join(HERE, "deferred_pipelines.py"), folder.name], stdout=subprocess.PIPE, check=True)
    DeferredCase.plain = json.loads(done.stdout)


@contextlib.contextmanager
def needs_of(looks):
    """What is asked for before its batch is there, if somebody looks."""
    asked = []
    with mock.patch.object(pictures.Recording, "report_need", staticmethod(asked.append)) if looks else contextlib.nullcontext():
        yield asked


class Here:
    """In place of the daemon's line: makes nothing, so that Pillow does it, and counts."""

    def __init__(self):
        self.count, self.spent = multiprocessing.Value("q"), 0

    def is_alive(self):
        return True

    def try_connect(self):
        return self.is_alive()

    def is_inherited(self):
        return False

    def close(self):
        pass

    def __call__(self, jobs):
        with self.count.get_lock():
            self.count.value += len(jobs)
        self.spent += len(jobs)
        return jobs


@unittest.skipIf(torch is None, "needs torch and torchvision")
class DeferredCase(unittest.TestCase):
    def setUp(self):
        leash.hold(self)
        self.addCleanup(let_go)
        self.enterContext(mock.patch.object(deferring, "_reported_needs", {1, 2, 3}))  # nothing more is said
        self.enterContext(mock.patch.object(payoff, "_TRIED", 1000))  # nothing is given up
        self.enterContext(mock.patch.object(payoff, "_ALWAYS", True))
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore")

    def assertEqualToPlain(self, name, workers, **settings):
        self.assertEqual(pipelines.digests(name, self.root, workers, **settings), self.plain[f"{name}/{workers}"])


class RecordedTest(DeferredCase):
    """What is recorded, made by Pillow."""

    def setUp(self):
        super().setUp()
        self.here = Here()
        self.enterContext(mock.patch.object(dispatch.materializer, "line", self.here))
        self.enterContext(mock.patch.object(deferring, "_checked", True))
        deferring._install()
        self.enterContext(mock.patch.object(deferring, "_ensure_line", lambda: True))
        self.enterContext(mock.patch.object(deferring, "_everywhere", True))
        self.enterContext(mock.patch.object(deferring, "_make_supply", lambda count: None))

    def test_batches(self):
        """Without workers: with them, the daemon makes what they record. Of WAITING nothing is asked for before the batch is there."""
        for name in pipelines.PIPELINES:
            with self.subTest(name), needs_of(name in WAITING) as asked:
                self.here.count.value = 0
                self.assertEqualToPlain(name, 0)
                self.assertEqual(self.here.count.value == 0, name in REAL, self.here.count.value)
                self.assertEqual(asked, [])

    def test_odd_files(self):
        self.assertGreaterEqual(len(pipelines.deferred_odd.files()), 300)

    def test_own_errors(self):
        """An error of the program's own is its own, and what follows is fed."""
        with mock.patch.object(sys, "stderr", io.StringIO()) as stderr, mock.patch.object(self.here, "close") as close:
            data = pipelines.loader("folder", self.root, 0).dataset
            data.samples[3] = ("absent.jpg", 0)
            with self.assertRaisesRegex(FileNotFoundError, "absent.jpg") as caught:
                list(torch.utils.data.DataLoader(data, 5))
            self.assertIsNone(caught.exception.__context__)
        self.assertEqual(stderr.getvalue(), "")
        close.assert_not_called()

    def test_seemed_sound(self):
        """A file that only its pixels show to be broken: the script's own error, where it has it, and what follows is fed."""
        from PIL import Image

        whole, out = io.BytesIO(), io.BytesIO()
        image = Image.effect_noise((90, 70), 80).convert("RGB")
        image.save(whole, "JPEG")
        image.save(out, "PNG")
        broken = {
            "JPEG": whole.getvalue()[:-2] + b"\xff\xc4\x00\x13\x00" + 16 * b"\xff" + b"\xff\xd9",
            "PNG": pipelines.deferred_odd.png(90, 70, 8, 2, b"\x05" * 10000),
        }
        for name, data in broken.items():
            files = [whole.getvalue()] * 4 + [data] + [whole.getvalue()] * 7

            def caught(index):
                try:
                    return pipelines.F.pil_to_tensor(Image.open(io.BytesIO(files[index])).convert("RGB"))  # noqa: B023
                except OSError as error:
                    return torch.full((3, 70, 90), len(str(error)), dtype=torch.uint8)

            def asked(index):
                with Image.open(io.BytesIO(files[index])) as image:  # noqa: B023
                    image.load()
                try:
                    return torch.from_numpy(numpy.array(image))
                except OSError:
                    return torch.zeros(90, 70)

            def batches(read):
                class Files(torch.utils.data.Dataset):
                    __len__ = lambda self: 12
                    __getitem__ = staticmethod(read)

                return list(torch.utils.data.DataLoader(Files(), 3))

            with self.subTest(name), mock.patch.object(self.here, "close") as close:
                with mock.patch.object(deferring, "_everywhere", False):
                    alone = batches(caught)
                self.here.count.value = 0
                self.assertTrue(all(map(torch.equal, batches(caught), alone)))
                self.assertGreater(self.here.count.value, 8)  # also behind the broken one
                with self.assertRaises(OSError) as error:
                    batches(asked)
                self.assertNotIn("sound", str(error.exception))
                close.assert_not_called()

    def test_own_errors_once(self):
        """Where nothing waited an error is the program's own, and nothing is asked for twice."""
        asked = []

        class Failing(torch.utils.data.Dataset):
            __len__ = lambda self: 5

            def __getitem__(self, index):
                asked.append(index)
                raise KeyError("gone")

        with self.assertRaisesRegex(KeyError, "gone"):
            list(torch.utils.data.DataLoader(Failing()))
        self.assertEqual(asked, [0])

    def test_nothing_waits(self):
        """What has no pictures, or others read them, or they stay pictures, is as without us, which is said once."""
        def said(read):
            with mock.patch.object(sys, "stderr", io.StringIO()) as stderr, mock.patch.object(payoff, "_TRIED", 3):
                list(torch.utils.data.DataLoader(pipelines.Pictures(self.root, read), collate_fn=list))
            return stderr.getvalue()

        for read in (len, torchvision.io.read_file, pipelines.opened):
            self.assertRegex(said(read), "^stoker: feed: no picture of the first batches can wait: they are made as without stoker .*\n$")
        self.assertEqual(said(lambda path: pipelines.F.to_tensor(pipelines.opened(path))), "")

    def test_losses(self):
        for name in ("folder", "reference", "mixup"):
            with self.subTest(name):
                self.assertEqual(pipelines.losses(name, self.root, 2), self.plain[f"losses/{name}"])

    def test_made_together(self):
        """Pictures that a collate function reads one after the other are made at once."""
        requests = []
        with mock.patch.object(dispatch.materializer, "line", mock.Mock(spent=0, side_effect=lambda jobs: requests.append(len(jobs)) or jobs)):
            self.assertEqualToPlain("in turn", 0)
        self.assertEqual(len(requests), 10)

    def test_tiles(self):
        """A picture that is cut into tiles is decoded twice at most, whatever is asked of them."""
        from PIL import Image

        def tiles(path):
            image = pipelines.opened(path).resize((64, 64))
            canvas, parts = Image.new("RGB", (64, 64)), [image.crop((8 * x, 8 * y, 8 * x + 8, 8 * y + 8)) for x in range(8) for y in range(8)]
            for number, part in enumerate(parts):
                canvas.paste(part, (8 * (number % 8), 8 * (number // 8)))
            return canvas.histogram()[:9], parts[3].getpixel((1, 2)), pipelines.F.to_tensor(canvas)

        data = pipelines.Pictures(self.root, tiles)
        decode, counts = pictures.Source.decode, []
        for fed in (False, True):
            with mock.patch.object(deferring, "_everywhere", fed), mock.patch.object(pictures.Source, "decode", lambda source: counts.append(source) or decode(source)):
                found = hashlib.sha256()
                for batch in torch.utils.data.DataLoader(data, 5):
                    pipelines.digest(batch, found)
                alone = found if not fed else alone
        self.assertEqual(found.hexdigest(), alone.hexdigest())
        self.assertGreater(len(counts), 0)
        self.assertLessEqual(max(map(counts.count, counts)), 2)

    def test_compared(self):
        """Some fetches run plain. A data set is let go if feeding does not make it cheaper."""
        for cost, gone in ((0.5, False), (2.0, True)):
            with self.subTest(cost), mock.patch.object(payoff, "_accounts", {}):
                seen, deferred = [], deferring._run_deferred
                with mock.patch.object(payoff, "_ALWAYS", False), mock.patch.object(deferring, "_run_deferred", lambda *args: seen.append(args) or deferred(*args)), mock.patch.object(
                    deferring.time, "thread_time_ns", lambda: round(1000 * (cost * len(seen) + len(plain)))
                ):
                    data = pipelines.Pictures(self.root, lambda path: (plain.append(path) if pictures.recording() is None else None, pipelines.F.to_tensor(pipelines.opened(path).resize((9, 9))))[1])
                    plain = []
                    list(torch.utils.data.DataLoader(data))
                account = payoff.find_account(data, None)
                self.assertEqual(account.is_hopeless(), gone)
                self.assertEqual(len(plain), len(data) - len(seen) if gone else payoff._COMPARED)

    def test_let_go(self):
        """If no picture is deferred, or all are used at once, or it costs more, our patches are removed, and are back for other data sets."""
        from PIL import Image, ImageFile

        ours = [(Image.Image, "load"), (Image.Image, "point"), (ImageFile.ImageFile, "load"), (torch.utils.data._utils.fetch._MapDatasetFetcher, "fetch")]

        def files():
            collate = torch.utils.data._utils.collate.default_collate_fn_map[torch.Tensor]
            functions = (*(vars(owner)[name] for owner, name in ours), collate)
            return [function.__code__.co_name + function.__code__.co_filename for function in functions], [function.__code__ for function in functions]

        def arrays(path):
            return int(numpy.asarray(pipelines.opened(path)).sum())

        plain = torch.utils.data.TensorDataset(torch.arange(40))
        seen, deferred = [], deferring._run_deferred
        waiting = pipelines.Pictures(self.root, lambda path: pipelines.F.to_tensor(pipelines.opened(path).resize((9, 9))))
        for dataset, least in ((plain, 16), (pipelines.Pictures(self.root, arrays), 16), (waiting, 18)):
            costs_more = mock.patch.object(payoff, "_costs_more", lambda found: found[payoff.FETCHES] >= 18)
            with costs_more, mock.patch.object(payoff, "_accounts", {}), mock.patch.object(payoff, "_TRIED", 16), mock.patch.object(deferring, "_run_deferred", lambda *args: seen.append(args) or deferred(*args)):
                self.assertEqualToPlain("folder", 0)
                inside = files()
                self.assertTrue(replacements.has_replacements(pipelines.F, "to_tensor"))
                with mock.patch.object(payoff, "_accounts", {}):
                    seen.clear()
                    for _ in range(2):
                        list(torch.utils.data.DataLoader(dataset))
                    self.assertEqual(len(seen), least)
                    outside = files()
                    self.assertFalse(replacements.has_replacements(pipelines.F, "to_tensor"))
                    self.assertTrue(all(a is not b for a, b in zip(inside[1], outside[1])), (inside[0], outside[0]))
                    self.assertFalse([file for file in outside[0] if os.sep + "stoker" + os.sep in file], outside[0])
                self.here.count.value = 0
                self.assertEqualToPlain("folder", 0)
                self.assertGreater(self.here.count.value, 0)
                self.assertEqual(files()[0], inside[0])

    def test_let_go_where_no_picture_is_opened(self):
        """After few batches, if they have samples enough; each data set says so once."""
        for opened, samples, fetches in ((0, 8, 4), (0, 1, 16), (1, 8, 16)):
            account, said = payoff.Account(None), 0
            with self.subTest(opened=opened, samples=samples), mock.patch.multiple(payoff, _TRIED=16, _WORTH=2):
                for fetch in range(1, 20):
                    said += account.count_fetch(False, opened)
                    account.count_cost(fetch % 2 > 0, samples, 1)
                    self.assertEqual(account.is_hopeless(), fetch >= fetches, fetch)
                self.assertEqual(said, 1)

    def test_workers_of_what_is_let_go(self):
        """Judged by all workers together; those of a later epoch begin without us."""
        with tempfile.TemporaryFile() as page:
            self.enterContext(mock.patch.multiple(share, _page=None, _file=-1))
            self.enterContext(mock.patch.object(payoff, "_accounts", {}))
            self.enterContext(mock.patch.object(payoff, "_slots", itertools.count()))  # those of earlier tests are taken
            self.enterContext(mock.patch.object(payoff, "_TRIED", 6))
            self.enterContext(mock.patch.object(deferring, "Line", lambda *_: self.here))
            share.use_page(page.fileno())
            data = torch.utils.data.TensorDataset(torch.arange(4))
            asked = []
            supply = mock.patch.object(deferring, "_make_supply", lambda count: asked.append(count) or deferring._Supply(count))
            with supply, mock.patch.object(sys, "stderr", io.StringIO()):
                for _ in range(4):
                    self.assertEqual(torch.cat([x for x, in torch.utils.data.DataLoader(data, 2, num_workers=2)]).tolist(), [0, 1, 2, 3])
            self.assertEqual(asked, [2, 2, 2])  # with two fetches each

    def test_a_data_set_that_is_gone_leaves_its_slot(self):
        """However many a process makes, each is judged by what its workers found, and nothing of those before."""
        with tempfile.TemporaryFile() as page:
            self.enterContext(mock.patch.multiple(share, _page=None, _file=-1))
            self.enterContext(mock.patch.multiple(payoff, _accounts={}, _slots=itertools.count(), _free=[], _ended=[0, 0, 0]))
            share.use_page(page.fileno())
            for _ in range(share.SLOTS + 9):
                data = torch.utils.data.TensorDataset(torch.arange(4))
                account = payoff.find_account(data, None)
                self.assertEqual(account.read_totals(), [0] * share.WORDS)
                payoff.Account(account.number).count_fetch(True, 1)  # in a worker
                self.assertEqual(account.read_totals()[payoff.FETCHES], 1)
                del data
            self.assertEqual(payoff._count_kinds(), [share.SLOTS + 9, share.SLOTS + 9, 0])

    def test_code_of_what_is_let_go_is_not_searched(self):
        with mock.patch.object(payoff, "_accounts", {}), mock.patch.object(deferring.reach, "find_witness", mock.Mock(return_value="")) as search:
            loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.arange(4)))
            account = deferring._find_account(loader)
            account._hopeless = True
            deferring._find_account(loader)
        self.assertEqual(search.call_count, 1)

    def test_truncated_images_may_be_loaded(self):
        """What decodes cleanly waits as ever, whenever the flag is set; what is cut has Pillow's grey."""
        from PIL import Image, ImageFile

        out = io.BytesIO()
        Image.effect_noise((90, 70), 80).convert("RGB").save(out, "JPEG")
        files = [out.getvalue(), out.getvalue()[: len(out.getvalue()) // 2], out.getvalue()[:-2]]

        class Files(torch.utils.data.Dataset):
            __len__ = lambda self: 12
            since = 12

            def __getitem__(self, index):
                ImageFile.LOAD_TRUNCATED_IMAGES = index >= self.since
                try:
                    return pipelines.F.to_tensor(Image.open(io.BytesIO(files[index % 4 % 3])).convert("RGB"))
                except OSError as error:
                    return torch.full((3, 70, 90), float(len(str(error))))

        self.enterContext(mock.patch.object(ImageFile, "LOAD_TRUNCATED_IMAGES", False))
        list(torch.utils.data.DataLoader(Files(), 3))  # the trials
        for since in (0, 6, 12):
            with self.subTest(since=since):
                data, self.here.count.value = Files(), 0
                data.since = since
                with mock.patch.object(deferring, "_everywhere", False):
                    alone = list(torch.utils.data.DataLoader(data, 3))
                fed = list(torch.utils.data.DataLoader(data, 3))
                self.assertTrue(all(map(torch.equal, fed, alone)))
                self.assertEqual([batch._version for batch in fed], [batch._version for batch in alone])
                self.assertEqual(self.here.count.value, 6)

    def test_said(self):
        """What was not deferred is said once, with its place."""
        with mock.patch.object(sys, "stderr", io.StringIO()) as stderr, mock.patch.object(deferring, "_reported_needs", set()):
            list(torch.utils.data.DataLoader(pipelines.Pictures(self.root, lambda path: len(pipelines.opened(path).resize((22, 22)).tobytes()))))
        line = __file__
        self.assertRegex(stderr.getvalue(), rf"^stoker: feed: {line}:\d+ \(PIL.Image.tobytes\) asks for the pixels of a picture, which is made there and then\n$")
        with mock.patch.object(sys, "stderr", io.StringIO()) as stderr, mock.patch.object(deferring, "_reported_needs", set()):
            list(torch.utils.data.DataLoader(pipelines.Pictures(self.root, lambda path: len(pickle.dumps(copy.copy(pipelines.opened(path).resize((22, 22))))))))
        self.assertIn(f"stoker: feed: {line}:", stderr.getvalue())


@unittest.skipIf(torch is None, "needs torch and torchvision")
class JpegTest(unittest.TestCase):
    """What is called sound makes Pillow raise nothing, however it is damaged."""

    def test_damage(self):
        from PIL import Image

        chance = random.Random(5)
        files = []
        for settings in ({}, {"progressive": True}, {"optimize": True, "subsampling": 0}, {"restart_marker_rows": 1}):
            for mode in ("RGB", "L"):
                out = io.BytesIO()
                Image.effect_noise((90, 70), 80).convert(mode).save(out, "JPEG", **settings)
                files.append(out.getvalue())
        sounds = 0
        for data in files:
            self.assertEqual((jpeg.find_end(data), jpeg.find_end(data + b"more"), jpeg.find_end(data[:-2]), jpeg.find_end(data[: len(data) // 2])), (len(data), len(data), 0, 0))
        for _ in range(3000):
            data = bytearray(chance.choice(files))
            for _ in range(chance.choice((1, 1, 2, 5))):
                at = chance.randrange(700 if chance.random() < 0.6 else len(data))
                part = chance.choice((b"\xff", b"\x00", b"\xff\xd9", b"\xff\xda", b"\xff\xd3", bytes([chance.randrange(256)])))
                data[at : at + chance.choice((0, len(part), 9))] = part
            if jpeg.find_end(bytes(data)):
                try:
                    image = Image.open(io.BytesIO(bytes(data)))
                except Exception:
                    continue  # the header is read as ever
                sounds += 1
                if image.format == "JPEG" and image.mode in ("L", "RGB"):
                    image.load()
        self.assertGreater(sounds, 100)


@unittest.skipIf(torch is None, "needs torch and torchvision")
class HeadersTest(unittest.TestCase):
    """A header that was read before gives what Pillow reads of it, however it is damaged."""

    def test_damage(self):
        from PIL import Image, JpegImagePlugin

        def opened(data):
            """All that is known of a file once it is open."""
            try:
                image = JpegImagePlugin.JpegImageFile(file_of(data))
            except Exception as error:
                return repr(error)
            known = {name: (type(value), value) for name, value in vars(image).items() if name not in ("fp", "_exif")}
            found = repr((sorted(known.items()), [type(tile) for tile in image.tile], image.fp.tell()))
            for value in (image.info, image.app, image.quantization, *image.quantization.values()):
                value.clear()  # which no other image may see
            for value in (image.layer, image.applist, image.tile, image.icclist):
                value.append(None)
            return found

        kind, chance, files = JpegImagePlugin.JpegImageFile, random.Random(5), []
        profile = {"icc_profile": b"p" * 200, "comment": b"c", "dpi": (72, 72)}
        for settings in ({}, {"progressive": True}, {"optimize": True, "subsampling": 0}, {"restart_marker_rows": 1}, profile):
            for mode in ("RGB", "L", "CMYK"):
                out = io.BytesIO()
                Image.effect_noise((90, 70), 80).convert(mode).save(out, "JPEG", **settings)
                files.append(out.getvalue())
        self.enterContext(mock.patch.object(headers, "_TRIED", 1 << 20))
        original, recording = kind._open, pictures.Recording(pictures.Tally())
        by_pillow = mock.Mock(side_effect=original)
        again = headers.wrap_open(by_pillow, lambda: recording)
        self.addCleanup(headers._kept.clear)
        count = 3000
        for number in range(count):
            data = bytearray(chance.choice(files))
            file_of = (io.BytesIO, lambda data: io.BufferedReader(io.BytesIO(data)))[number % 2]
            frame = next(data.index(b"\xff" + name) for name in (b"\xc0", b"\xc2") if b"\xff" + name in data)
            if chance.random() < 0.5:
                data[frame + 5 : frame + 9] = bytes(chance.choice((0, 1, 7, 200)) for _ in range(4))
            for _ in range(chance.choice((0, 0, 1, 2))):
                at = chance.randrange(700 if chance.random() < 0.6 else len(data))
                part = chance.choice((b"\xff", b"\x00", b"\xff\xd9", b"\xff\xda", b"\xff\xc1", b"\xff\xde", bytes([chance.randrange(256)])))
                data[at : at + chance.choice((0, len(part), 9))] = part
            expected = opened(bytes(data))
            with mock.patch.object(kind, "_open", again):
                self.assertEqual(opened(bytes(data)), expected)
        self.assertLess(by_pillow.call_count, 0.7 * count)
        with mock.patch.dict(JpegImagePlugin.MARKER, {0xFFE0: ("APP0", "", JpegImagePlugin.Skip)}):  # a program's own way
            expected, recording.markers = opened(files[0]), None
            with mock.patch.object(kind, "_open", again):
                self.assertEqual(opened(files[0]), expected)


@unittest.skipIf(torch is None, "needs torch and torchvision")
class DrawsTest(unittest.TestCase):
    """Crops are drawn as torchvision draws them, from the same random numbers."""

    def setUp(self):
        self.theirs = mock.Mock(side_effect=torchvision.transforms.RandomResizedCrop.get_params)

        def get_params(img, scale, ratio):
            return self.theirs(img, scale, ratio)

        get_params.__module__ = torchvision.transforms.transforms.__name__
        self.ours = draws.wrap_get_params(get_params)
        pictures.Recording.now = pictures.Recording(pictures.Tally())
        self.addCleanup(setattr, pictures.Recording, "now", None)
        self.addCleanup(torch.set_rng_state, torch.get_rng_state())

    def drawn(self, function, seed, *arguments):
        """What it gives, or raises, and the generator's state then."""
        torch.manual_seed(seed)
        try:
            found = function(*arguments)
        except Exception as error:
            found = repr(error)
        return found, [type(each) for each in found], torch.get_rng_state().tolist()

    def test_known(self):
        self.assertIn(draws.digest(torchvision.transforms.RandomResizedCrop.get_params), draws._KNOWN)

    def test_equal(self):
        from PIL import Image

        chance, count = random.Random(3), 0
        for seed in range(1500):
            sides = [chance.choice((1, 2, 7, 90, 375, 500)) for _ in range(2)]
            image = Image.new("RGB", sides) if seed % 4 else torch.zeros(3, *sides)
            scale = chance.choice(((0.08, 1.0), [0.5, 0.5], (1.0, 4.0), (9.0, 10.0), (-1.0, 1.0), (1.0, 0.5), (1, 2)))
            ratio = chance.choice(((3 / 4, 4 / 3), [0.1, 10.0], (1.0, 1.0), (4.0, 5.0), (0.1, 0.2), (-1.0, 1.0), (0.0, 1.0), (2.0, 1.0), (1, 2)))
            expected = self.drawn(self.theirs.side_effect, seed, image, scale, ratio)
            self.assertEqual(self.drawn(self.ours, seed, image, scale, ratio), expected, (sides, scale, ratio))
            count += 1
        self.assertLess(self.theirs.call_count, 0.2 * count)

    def test_spaces(self):
        """What RandAugment and its like choose from is made once, and each has a dictionary of its own."""
        kinds = [getattr(torchvision.transforms, name) for name in draws._CHOOSING]
        self.assertEqual({draws.digest(kind._augmentation_space) for kind in kinds}, draws._SPACES)
        for kind in kinds:
            sides = () if kind.__name__ == "TrivialAugmentWide" else ((30, 40),)
            theirs = mock.Mock(side_effect=kind._augmentation_space, __name__="_augmentation_space")
            ours, expected = draws.wrap_space(theirs), kind._augmentation_space(None, 31, *sides)
            for _ in range(3):
                found = ours(None, 31, *sides)
                self.assertEqual(repr(found), repr(expected))
                found.clear()
            self.assertEqual(theirs.call_count, 1)
            self.assertNotEqual(repr(ours(None, 10, *sides)), repr(expected))
            with mock.patch.object(torch, "get_default_dtype", return_value=torch.float64):
                ours(None, 31, *sides)
            pictures.Recording.now = None
            ours(None, 31, *sides)
            self.assertEqual(theirs.call_count, 4)
            pictures.Recording.now = pictures.Recording(pictures.Tally())
            self.assertEqual(self.drawn(ours, 1, None, "x", *sides)[0], self.drawn(kind._augmentation_space, 1, None, "x", *sides)[0])

    def test_otherwise(self):
        """Where torch makes other tensors, or somebody listens, torchvision's own function draws."""
        from torch.utils._python_dispatch import TorchDispatchMode

        class Listening(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                return func(*args, **(kwargs or {}))

        arguments = torch.zeros(3, 90, 70), (0.08, 1.0), (3 / 4, 4 / 3)
        self.assertEqual(self.drawn(self.ours, 1, *arguments), self.drawn(self.theirs.side_effect, 1, *arguments))
        self.assertEqual(self.theirs.call_count, 0)
        self.addCleanup(torch.set_default_dtype, torch.get_default_dtype())
        ways = (lambda: torch.device("cpu"), Listening, lambda: mock.patch.object(torch, "randint", lambda *rest, **more: torch.zeros(1)))
        for number, way in enumerate(ways, 1):
            with way():
                self.assertEqual(self.drawn(self.ours, 1, *arguments), self.drawn(self.theirs.side_effect, 1, *arguments))
            self.assertEqual(self.theirs.call_count, number)
        torch.set_default_dtype(torch.float64)
        self.assertEqual(self.drawn(self.ours, 1, *arguments), self.drawn(self.theirs.side_effect, 1, *arguments))
        self.assertEqual(self.theirs.call_count, len(ways) + 1)


class VerifyTest(DeferredCase):
    """What a daemon makes wrong is found where it is asked to be."""

    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.object(deferring, "_checked", True))

    def test_wrong(self):
        class Wrong(Here):
            closed = False

            def is_alive(self):
                return not self.closed

            def close(self):
                self.closed = True

            def __call__(self, jobs):
                for job in jobs:
                    job.compute_by_pillow()
                    job.place.view(-1)[0] += 1
                return []

        for line, said in ((Wrong(), "differs from Pillow's"), (Here(), "equals Pillow's, bit by bit")):
            self.enterContext(mock.patch.object(dispatch.materializer, "line", line))
            deferring._install()
            self.enterContext(mock.patch.object(deferring, "_ensure_line", lambda: True))
            self.enterContext(mock.patch.object(deferring, "_everywhere", True))
            self.enterContext(mock.patch.object(deferring, "_to_verify", 3))
            with mock.patch.object(sys, "stderr", io.StringIO()) as stderr:
                self.assertEqualToPlain("stream" if line is Here else "reference", 0)
            self.assertIn(said, stderr.getvalue())
            self.assertEqual(line.is_alive(), type(line) is Here)


def place_of(tensor):
    """Which memory a batch lies in: the inode, of the file that is mapped there."""
    at = tensor.data_ptr()
    with open("/proc/self/maps") as maps:
        for line in maps:
            begin, end = (int(part, 16) for part in line.split()[0].split("-"))
            if begin <= at < end:
                return line.split()[4]


def digest_of(values):
    return hashlib.sha256(numpy.asarray(values).tobytes()).hexdigest()[:16]


BINARY = os.path.join(os.path.dirname(os.path.dirname(HERE)), "bin", "stoker")


@unittest.skipUnless(os.path.exists(BINARY), "needs bin/stoker (make build)")
class DaemonTest(DeferredCase):
    """Made by the daemon."""

    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.dict(os.environ, STOKER_BIN=BINARY, STOKER_FEED_ALWAYS="1"))
        self.enterContext(mock.patch.object(dispatch.materializer, "line", None))
        self.enterContext(mock.patch.object(deferring, "_daemon", None))
        self.enterContext(mock.patch.object(deferring, "_lost", False))
        self.enterContext(mock.patch.object(deferring, "_everywhere", True))
        self.left = multiprocessing.Value("q")
        self.all = multiprocessing.Value("q")
        deferring._install()
        call = _line.Line.__call__

        def counted(line, jobs):
            left = call(line, jobs)
            with self.all.get_lock():
                self.all.value += len(jobs)
                self.left.value += len(jobs if left is None else left)
            return left

        self.enterContext(mock.patch.object(_line.Line, "__call__", counted))

    def test_batches(self):
        """With workers where the table has them: without any, RecordedTest has what is recorded."""
        for name, workers in dict(pipelines.CELLS).items():
            with self.subTest(name, workers=workers):
                self.all.value = self.left.value = 0
                self.assertEqualToPlain(name, workers)
                self.assertEqual((self.all.value == 0, self.left.value == 0), (name in REAL, True))

    def test_losses(self):
        for name in ("folder", "reference", "mixup"):
            with self.subTest(name):
                self.assertEqual(pipelines.losses(name, self.root, 2), self.plain[f"losses/{name}"])

    def test_death(self):
        """The daemon is killed in the middle: nothing is lost, and the next epoch has another."""
        for workers in (0, 2):
            with self.subTest(workers=workers):
                found = []
                batches = pipelines.loader("reference", self.root, workers)
                for epoch in range(2):
                    for number, batch in enumerate(batches):
                        found.append(hashlib.sha256())
                        pipelines.digest(batch, found[-1])
                        if number == 1:
                            process = deferring._daemon._end.peek()[2][1]
                            process.kill()
                            process.wait()
                self.assertEqual([each.hexdigest()[:16] for each in found], self.plain[f"reference/{workers}"][:-1])

    def test_no_descriptor(self):
        """A daemon without descriptors gets no picture any more: the workers make them, and stay connected."""
        for workers in (0, 2):
            with self.subTest(workers=workers), warnings.catch_warnings():
                warnings.simplefilter("error")  # no line has broken
                found = []
                for number, batch in enumerate(pipelines.loader("reference", self.root, workers)):
                    found.append(hashlib.sha256())
                    pipelines.digest(batch, found[-1])
                    if number == 0:
                        pid = deferring._daemon._end.peek()[2][1].pid
                        before = resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]))
                    if number == 2:
                        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
                each = len(found)
                self.assertEqual([one.hexdigest()[:16] for one in found], self.plain[f"reference/{workers}"][:each])

    def test_kept(self):
        """Memory is used again, but never what a trainer still has: a batch, a view of one, an array, also when the workers have ended."""
        for workers in (0, 2):
            with self.subTest(workers=workers):
                batches = pipelines.loader("folder", self.root, workers, persistent_workers=workers > 0, batch_size=2)
                kept, places = [], []
                for _ in range(3):
                    for number, (images, _) in enumerate(batches):
                        part = (images, images[1:, 0], images.numpy()[0].T, None)[number % 4]
                        places.append(place_of(images))
                        if part is not None:
                            kept.append((part, digest_of(part), places[-1]))
                del images, part, batches  # the workers end
                self.assertEqual([digest_of(part) for part, _, _ in kept], [was for _, was, _ in kept])
                rooms = [place for _, _, place in kept if place != "0"]  # of many, some are copied out of their rooms
                self.assertEqual((len(set(rooms)), len(rooms) > 8), (len(rooms), True))
                self.assertLess(len(set(places)), len(places))

    def test_crosses_in_rooms(self):
        """Deferred pictures of a batch, stacked or each on its own, are written where the hand-over sends them."""
        for name in ("folder", "reference", "large", "stream"):
            with self.subTest(name), mock.patch.object(receiving, "counts", receiving.Counts()):
                found = []
                for batch in pipelines.loader(name, self.root, 2):
                    found.append(hashlib.sha256())
                    pipelines.digest(batch, found[-1])
                self.assertEqual([each.hexdigest()[:16] for each in found], self.plain[f"{name}/2"][: len(found)])
                self.assertEqual((receiving.counts.bytes > 0, receiving.counts.left), (True, 0))

    def test_memory_of_files(self):
        """Read over once the fetch has ended, but what somebody still has, or a child of a fork may see, has bytes of its own before."""
        with mock.patch.object(_files, "_spare", []), tempfile.NamedTemporaryFile() as file:
            file.write(b"first")
            file.flush()
            for end in (_files.give, lambda _: os.waitpid(os.fork() or os._exit(0), 0)):
                files = _files.take()
                with open(file.name, "rb") as opened:
                    source = pictures.Source(files.read(opened, 5), "L", (1, 1))
                files.keep(source)
                self.assertEqual((type(source.data), source.files, files.end), (memoryview, files, 5))
                with mock.patch.object(pictures.Recording, "now", mock.Mock(files=files)):
                    end(files)
                files.read(io.BytesIO(b"other"), 5)
                self.assertEqual((source.data, source.files), (b"first", None))

    def test_line_broken(self):
        """A daemon that was not waited for may still write where it was told to: never again there."""
        _room.rooms.forget()
        room, loan = _room.rooms.lend(4096)
        os.close(loan)
        again, loan = _room.rooms.lend(4000)
        os.close(loan)
        self.assertIs(again, room)
        ours, theirs = socket.socketpair()
        self.addCleanup(theirs.close)
        line = _line.Line(mock.Mock(take_connection=lambda: ours), 1)
        self.assertTrue(line.try_connect())
        line.close()
        other, loan = _room.rooms.lend(4096)
        os.close(loan)
        self.assertIsNot(other, room)

    def test_still_written(self):
        """A batch's memory whose descriptor a daemon still has is not used again, though nobody here has it any more."""
        home = memory.Memory([])

        def make():
            tensor, shared = dispatch._Batch(True, home)._allocate((1 << 16,), torch.float32, True)
            home.turn()
            return place_of(tensor), os.dup(shared.descriptor)

        first, there = make()
        second, other = make()
        os.close(other)
        self.assertEqual((make()[0], first == second), (second, False))
        os.close(there)
        self.assertEqual(make()[0], first)

    def test_most_rooms(self):
        """Large tensors that find no room any more are made elsewhere, and are the same."""
        for most in (0, 1, 128):
            with self.subTest(most=most), mock.patch.object(_room, "_MOST", most):
                receiving.take_resting()  # else the workers begin with these
                found, rooms = [], 0
                for seen, samples in pipelines.loader("large", self.root, 2, collate_fn=lambda samples: (len(memory.find_memory()._lender._rooms._rooms), samples)):
                    found.append(hashlib.sha256())
                    pipelines.digest(samples, found[-1])
                    rooms = max(rooms, seen)
                self.assertEqual([each.hexdigest()[:16] for each in found], self.plain["large/2"][: len(found)])
                self.assertEqual(min(rooms, 2), min(most, 2))

    def test_kept_by_a_child(self):
        """A forked child may still read what its parent has dropped."""
        _room.rooms.forget()
        batches = iter(pipelines.loader("folder", self.root, 0))
        images, _ = next(batches)
        first, seen = place_of(images), digest_of(images)
        come, go = multiprocessing.Pipe(), multiprocessing.Pipe()
        child = multiprocessing.get_context("fork").Process(target=lambda: (go[1].recv(), come[1].send(digest_of(images) == seen)))
        child.start()
        self.addCleanup(child.join)
        self.addCleanup(child.kill)
        del images
        self.assertNotIn(first, [place_of(images) for images, _ in batches])
        go[0].send(None)
        self.assertTrue(come[0].recv())

    def test_command(self):
        """An unchanged script; its exit code is its own."""
        script = "import sys; sys.path.insert(0, %r); import deferred_pipelines as p; print(p.digests('mixup', %r, 2)); sys.exit(7)" % (HERE, self.root)
        done = subprocess.run([BINARY, "feed", "--verify", "2", "--", sys.executable, "-c", script], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout.strip()), (7, str(self.plain["mixup/2"])), done.stderr)
        self.assertIn("verify: every picture of the first batches equals Pillow's, bit by bit", done.stderr)
        self.assertRegex(done.stderr, r"\nstoker: feed: 9\d % of the pixels' work was done by Go: 44 of 48 pictures whole, 4 by Pillow \(such as (?:CMYK JPEG|RGB PNG) at torchvision/datasets/folder.py:\d+ \(PIL.Image.convert\)\)\n$")

    def test_alone(self):
        """Without workers: what the data set keeps, prints and raises, and what the loop draws in between, is as it was."""
        script = [sys.executable, "-W", "ignore", os.path.join(HERE, "deferred_alone.py"), self.root]
        plain, fed = (subprocess.run([*before, *script], capture_output=True, text=True) for before in ([], [BINARY, "feed", "--"]))
        self.assertIn("raised call", plain.stdout, plain.stderr)
        self.assertEqual((fed.returncode, fed.stdout), (0, plain.stdout), fed.stderr)

    def test_many_at_once(self):
        """More memory and more pictures than go into one packet, or into as many as may be under way."""
        with mock.patch.object(_line, "_PICTURES", 3), mock.patch.object(_line, "_AT_ONCE", 2), mock.patch.object(_line, "_VECTORS", 2), mock.patch.object(_files, "SIZE", 50_000), mock.patch.object(_files, "_spare", []):
            for name in ("moco", "crops"):
                self.assertEqualToPlain(name, 0)
        self.assertEqual(self.left.value, 0)

    def test_damaged_scans(self):
        """JPEGs that end as they should, with bytes and markers in their scans that should not be there."""
        from PIL import Image

        chance, files = random.Random(26), []
        for settings in ({}, {"optimize": True, "subsampling": 0}, {"restart_marker_rows": 1}, {"progressive": True}):
            for mode in ("RGB", "L"):
                out = io.BytesIO()
                Image.effect_noise((90, 70), 80).convert(mode).save(out, "JPEG", **settings)
                files.append(out.getvalue())
        for whole in files[:8] * 40:
            data = bytearray(whole)
            for _ in range(chance.choice((1, 1, 2))):
                at = chance.randrange(data.rindex(b"\xff\xda") + 12, len(data) - 2)
                part = chance.choice((b"\xff\xd9", b"\xff\xd3", b"\xff\xc4\0\5\0\0\0", b"\xff\xda\0\2", b"\xff\xff", bytes([255, chance.randrange(256)]), bytes([chance.randrange(256)])))
                data[at : at + chance.choice((0, len(part), 9))] = part
            if chance.random() < 0.3:
                data[-2:] = bytes([255, chance.randrange(0xC0, 0xFF)]) + b"\0\4ab\xff\xd9"
            files.append(bytes(data if data[-2:] == b"\xff\xd9" else data + b"\xff\xd9"))

        def made(index):
            try:
                image = Image.open(io.BytesIO(files[index])).convert("RGB")
                return pipelines.F.pil_to_tensor(image.crop((0, 0, 20, 9)) if index % 2 else image.resize((64, 64)))
            except Exception as error:
                return f"{type(error).__name__}: {error}"

        def all_of_them():
            few = (range(begin, begin + 8) for begin in range(0, len(files), 8))  # of which the next knows nothing
            batches = (batch for part in few for batch in torch.utils.data.DataLoader(part, 4, collate_fn=lambda indices: [made(index) for index in indices]))
            return [sample if type(sample) is str else digest_of(sample) for batch in batches for sample in batch]

        with mock.patch.object(deferring, "_everywhere", False):
            alone = all_of_them()
        self.assertEqual(all_of_them(), alone)
        self.assertIn("OSError", str(alone))
        self.assertGreater(self.all.value, 100)

    def test_start_methods(self):
        # What multiprocessing keeps for them goes with the test, and is waited for: others count the children of this process.
        for kept in (multiprocessing.resource_tracker._resource_tracker, multiprocessing.forkserver._forkserver):
            self.addCleanup(lambda kept=kept: (getattr(kept, "_pid", None) or getattr(kept, "_forkserver_pid", None)) and kept._stop())
        with tempfile.TemporaryFile() as page:
            self.enterContext(mock.patch.multiple(share, _page=None, _file=-1))
            share.use_page(page.fileno())
            for method in ("spawn", "forkserver"):
                with self.subTest(method):
                    self.assertEqualToPlain("reference", 2, multiprocessing_context=method)
            self.assertRegex(share.describe(*share.read_counts()), "^9. % .*: 88 of 96 pictures whole, 8 by Pillow")


if __name__ == "__main__":
    unittest.main()
