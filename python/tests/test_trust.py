"""What the daemon makes otherwise than the installed libraries is left to them, is named, and is tried once."""

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import leash
from feed_fixture import let_go

try:
    import torch
    import torchvision  # noqa: F401
    from PIL import Image, ImageEnhance  # noqa: F401

    from stoker import _warning
    from stoker.daemon import private
    from stoker.deferred import deferring, payoff
    from stoker.deferred.materialize import dispatch, line, trials, trust
    from stoker.deferred.recipes import pictures
except ImportError:
    torch = None

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.path.join(ROOT, "bin", "stoker")


def made_here(jobs):
    """In place of the daemon: what Pillow makes."""
    for job in jobs:
        job.compute_by_pillow()
    return []


@unittest.skipIf(torch is None, "needs torch and torchvision")
class TrustCase(unittest.TestCase):
    def setUp(self):
        leash.hold(self)
        self.addCleanup(let_go)
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        # A folder in /tmp is nobody's own: what is above it is not looked at here, and test_private does.
        self.enterContext(mock.patch.object(private, "check", lambda path, uid=None: path))
        self.enterContext(mock.patch.dict(os.environ, XDG_CACHE_HOME=self.folder, STOKER_BIN=BINARY))
        self.addCleanup(trust.trust, set(pictures.untrusted))

    def entry(self):
        return os.path.join(self.folder, "stoker", "trials", trust._make_key())


class CheckTest(TrustCase):
    def setUp(self):
        super().setUp()
        self.asked = 0

    def make(self, jobs):
        self.asked += 1
        return made_here(jobs)

    def test_kept(self):
        """It is tried once, and again for other versions."""
        self.assertEqual(trust.check(self.make), set())
        self.assertEqual(trust.check(self.make), set())
        self.assertEqual(self.asked, 1)
        with mock.patch.object(torch, "__version__", "0.0"):
            trust.check(self.make)
        self.assertEqual(self.asked, 2)
        self.assertEqual([os.stat(os.path.join(os.path.dirname(self.entry()), name)).st_mode & 0o777 for name in os.listdir(os.path.dirname(self.entry()))], [0o600] * 2)

    def test_differs(self):
        """What one library makes otherwise is left to it, alone."""
        brightness = pictures.PILLOW_OPERATIONS["brightness"]
        with mock.patch.dict(pictures.PILLOW_OPERATIONS, brightness=lambda image, factor: brightness(image, factor).transpose(0)):
            expected = list(trials.trials())

        def make(jobs):
            for row, job in zip(expected, jobs, strict=True):
                job.place.copy_(row.expected)
            return []

        self.assertEqual(trust.check(make), {"brightness"})
        self.assertEqual(trust.check(self.make), {"brightness"})  # from the cache
        self.assertEqual(self.asked, 0)

    def test_not_made(self):
        """What the daemon does not make is left as well; where that is all, nothing waits."""

        def unmade(jobs):
            for job in jobs:  # memory that is used again may hold what an earlier trial expected
                job.place.zero_()
            return [job for job in jobs if "hue" in str(job.recipe.ops)]

        self.assertEqual(trust._try(unmade), self.rest({"hue"}))
        with self.assertRaisesRegex(trust.Unfit, "are not those of Pillow"):
            trust.check(lambda jobs: jobs)

    def rest(self, unmade):
        """Nothing was written to the places: what is not black differs too."""
        return unmade | {row.name for row in trials.trials()}

    def test_damaged(self):
        """An entry that is damaged, of another key or that others can write is not believed, and is replaced."""
        trust.check(self.make)
        whole = self.told()
        for number, text in enumerate(("", "{", "[1]", "{}", json.dumps({"key": "other", "left": []}), json.dumps({"key": trust._make_key(), "left": [1]}))):
            with self.subTest(text):
                with open(self.entry(), "w") as file:
                    file.write(text)
                self.assertEqual(trust.check(self.make), set())
                self.assertEqual((self.asked, self.told()), (2 + number, whole))
        os.chmod(self.entry(), 0o666)
        with open(self.entry(), "w") as file:
            json.dump({"key": trust._make_key(), "left": ["crop"]}, file)
        self.assertEqual(trust.check(self.make), set())

    def told(self):
        with open(self.entry()) as file:
            return file.read()

    def test_no_cache(self):
        """Without a folder for it, it is tried each time."""
        with mock.patch.object(trust, "_find_folder", lambda: None):
            self.assertEqual([trust.check(self.make) for _ in range(2)], [set()] * 2)
        self.assertEqual(self.asked, 2)
        with mock.patch.object(trust.tempfile, "mkstemp", side_effect=OSError("read-only")):
            self.assertEqual([trust.check(self.make) for _ in range(2)], [set()] * 2)
        self.assertEqual(self.asked, 4)

    def test_replaced_method(self):
        """What comes of a method that the program has put in Pillow's place is not kept for others."""
        with mock.patch.object(Image.Image, "convert", lambda image, mode: Image.new(mode, image.size)):
            trust.check(self.make)
        self.assertFalse(os.path.exists(self.entry()))


class Pictures:
    """Of one file."""

    def __init__(self, path, change):
        self.path, self.change = path, change

    def __len__(self):
        return 12

    def __getitem__(self, index):
        with Image.open(self.path) as image:
            return torchvision.transforms.functional.pil_to_tensor(self.change(image.convert("RGB")))


@unittest.skipUnless(os.path.exists(BINARY), "needs bin/stoker (make build)")
class FedTest(TrustCase):
    """With the daemon."""

    def setUp(self):
        self.enterContext(mock.patch.object(payoff, "_ALWAYS", True))  # all are fed, small as they are
        super().setUp()
        for name, value in (("_daemon", None), ("_lost", False), ("_everywhere", True), ("_checked", False), ("_reported_needs", {1, 2, 3})):
            self.enterContext(mock.patch.object(deferring, name, value))
        self.enterContext(mock.patch.object(_warning, "_said", set()))
        self.enterContext(mock.patch.object(dispatch.materializer, "line", None))
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        deferring._install()
        self.path = os.path.join(self.folder, "a.jpg")
        Image.effect_noise((90, 70), 80).convert("RGB").save(self.path)

    def batches(self, change, workers=0):
        loader = torch.utils.data.DataLoader(Pictures(self.path, change), 4, num_workers=workers)
        return torch.cat(list(loader))

    def test_all_trusted(self):
        """The installed libraries are those that the daemon follows."""
        self.batches(lambda image: image)
        self.assertTrue(deferring._checked)
        self.assertEqual(pictures.untrusted, set())
        self.assertTrue(os.path.exists(self.entry()))

    def test_left(self):
        """An operation that differs here is made by the library, in the worker, and a line names it."""

        def darker(image):
            return ImageEnhance.Brightness(image).enhance(0.5)

        right, called = torchvision.transforms.functional.pil_to_tensor(darker(Image.open(self.path).convert("RGB"))), []
        original = trust._try

        def tried(make):
            # The daemon's bytes of one operation change on their way.
            def make_wrong(jobs):
                left = make(jobs)
                for job in jobs:
                    if job.recipe.ops and job.recipe.ops[0][0] == "brightness":
                        job.place.flatten()[0] += 1
                return left

            return original(make_wrong)

        compute_by_pillow = pictures.compute_by_pillow
        with (
            mock.patch.object(trust, "_try", tried),
            mock.patch.object(pictures, "compute_by_pillow", lambda source, ops: called.append(ops) or compute_by_pillow(source, ops)),
            mock.patch.object(sys, "stderr", io.StringIO()) as stderr,
        ):
            for workers in (0, 2):
                made = self.batches(darker, workers)
                self.assertTrue(torch.equal(made, right.expand_as(made)))
        self.assertEqual(len(called), 12)  # those of this process
        self.assertEqual(pictures.untrusted, {"brightness"})
        self.assertRegex(stderr.getvalue(), r"^stoker: feed: left to Pillow [\d.]+\S* and torch, whose bytes differ from the daemon's here: brightness\n$")

    def test_formats(self):
        """A kind of file that is left is opened by Pillow; where both are, nothing waits and a line says so."""
        with mock.patch.object(trust, "_try", lambda make: {"JPEG"}), mock.patch.object(line.Line, "__call__", side_effect=AssertionError), contextlib.redirect_stderr(io.StringIO()):
            self.batches(lambda image: image)
        os.unlink(self.entry())
        with (
            mock.patch.object(deferring, "_checked", False),
            mock.patch.object(trust, "_try", lambda make: {"JPEG", "PNG"}),
            contextlib.redirect_stderr(io.StringIO()) as stderr,
        ):
            self.batches(lambda image: image)
            self.batches(lambda image: image, workers=2)
        self.assertRegex(stderr.getvalue(), r"^stoker: feed: pictures are made by the workers, as without stoker: the daemon's bytes are not those of Pillow [^\n]*\n$")

    def test_spawned(self):
        """Workers that are not forked are told."""
        loop = deferring._Loop([], 1.0, None)
        with mock.patch.object(deferring, "_checked", True):
            trust.trust({"resize"})
            make, given = loop.__reduce__()
        trust.trust(set())
        with mock.patch.object(deferring, "_checked", False):
            make(*given)
            self.assertTrue(deferring._checked)
        self.assertEqual(pictures.untrusted, {"resize"})


if __name__ == "__main__":
    unittest.main()
