"""torchvision's v2 on tensors of bytes that wait: batches equal those of the script alone, bit by bit."""

import contextlib
import io
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import leash  # noqa: F401 # before what it holds

try:
    import deferred_pipelines as pipelines
    import deferred_vision as vision
    import torch
    from test_deferred import BINARY, DeferredCase, Here, needs_of

    from stoker.deferred import deferring, further
    from stoker.deferred.materialize import line as _line
    from stoker.deferred.materialize import dispatch, trust
    from stoker.deferred.recipes import pictures
    from stoker.deferred.torch import tensors
    from stoker.deferred.torchvision import vision as _vision
except ImportError:
    torch, BINARY = None, ""
    DeferredCase = unittest.TestCase

HERE = os.path.dirname(os.path.abspath(__file__))

# Where nothing waits: arrays are made at once.
REAL = {"v2 of NumPy"}

# Where nothing is asked for before the batch is there.
WAITING = {
    *("training", "evaluation", "bicubic", "jitter", "tables", "bytes", "single", "padded", "detection", "multiscale", "DINOv3", "LeRobot", "LeRobot bytes"),
    *("read", "VAR"),
}  # fmt: skip


def plain_of(root, **more):
    """What the script alone gives."""
    done = subprocess.run([sys.executable, "-W", "ignore", os.path.join(HERE, "deferred_vision.py"), root], stdout=subprocess.PIPE, check=True, env={**os.environ, **more})
    return json.loads(done.stdout)


def setUpModule():
    if torch is None:
        return
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    VisionCase.root = folder.name
    VisionCase.plain = plain_of(folder.name)


@unittest.skipIf(torch is None, "needs torch and torchvision")
class VisionCase(DeferredCase):
    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.object(deferring, "_everywhere", True))
        deferring._install()
        self.addCleanup(further._tried.clear)
        self.addCleanup(trust.trust, set(pictures.untrusted))


class RecordedTest(VisionCase):
    """What is recorded, made by torchvision."""

    def setUp(self):
        super().setUp()
        self.here = Here()
        self.enterContext(mock.patch.object(dispatch.materializer, "line", self.here))
        self.enterContext(mock.patch.object(deferring, "_checked", True))
        self.enterContext(mock.patch.object(deferring, "_ensure_line", lambda: True))
        self.enterContext(mock.patch.object(deferring, "_make_supply", lambda count: None))
        self.enterContext(mock.patch.object(trust, "check", lambda *tried: set()))

    def test_batches(self):
        """Of WAITING nothing is asked for before the batch is there."""
        for name in vision.PIPELINES:
            with self.subTest(name), needs_of(name in WAITING) as asked:
                self.here.count.value = 0
                self.assertEqualToPlain(f"vision {name}", 0)
                self.assertEqual(self.here.count.value == 0, name in REAL)
                self.assertEqual(asked, [])

    def test_left(self):
        """What differs is torch's, and all else waits as before."""
        with mock.patch.object(trust, "check", lambda *tried: {"torch_bilinear", "torch_contrast", "torchvision.io of JPEGs"}):
            for name in ("training", "jitter", "walks", "decoded"):
                with self.subTest(name):
                    self.assertEqualToPlain(f"vision {name}", 0)
        self.assertLessEqual(_vision.FUSED, pictures.untrusted)

    def test_looks(self):
        """A tensor that waits says what it is, and a warning of torchvision's is said."""
        from torchvision import io as tvio
        from torchvision import tv_tensors
        from torchvision.transforms.v2 import functional as F

        def look(path):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                image = tvio.read_image(path)
            image = F.resize(tv_tensors.Image(image), [20, 30], antialias=True)
            seen = type(image).__name__, isinstance(image, tv_tensors.Image), tuple(image.shape), image.stride(), image.dtype, sorted({each.category.__name__ for each in said})
            return str(seen).replace("LaterImage", "Image")

        files = vision.Files(self.root, look)
        fetched = list(torch.utils.data.DataLoader(files, batch_size=None))
        self.assertEqual([label for label, _ in fetched], [look(path) for path, _ in files.files])


class OlderTest(RecordedTest):
    """The same with a torchvision whose tensors do not wrap themselves, as up to 0.25."""

    def setUp(self):
        from torchvision import tv_tensors

        def wrap(wrappee, *, like, **kwargs):
            return like.wrap_of_now(wrappee, like, **kwargs) if type(like).__name__ in BOXES else wrappee.as_subclass(type(like))

        BOXES = ("BoundingBoxes", "KeyPoints")
        if not any("wrap" in vars(kind) for kind in vars(tv_tensors).values() if isinstance(kind, type)):
            self.skipTest("the installed torchvision is such a one")
        for kind in vars(tv_tensors).values():
            own = vars(kind).get("wrap") if isinstance(kind, type) else None
            if own is not None:
                del kind.wrap
                kind.wrap_of_now = own
                self.addCleanup(setattr, kind, "wrap", own)
        self.enterContext(mock.patch.object(tv_tensors, "wrap", wrap))
        self.addCleanup(tensors._done.discard, "wrap")
        tensors._done.discard("wrap")
        super().setUp()

    def test_posing(self):
        """What a function makes of a tensor that waits, and had to be made for it, is torchvision's own."""
        from torchvision.transforms import v2

        def turned(path):
            image = v2.Compose([v2.ToImage(), v2.RandomRotation(10)])(vision.read(path))
            return type(image).__name__

        fetched = list(torch.utils.data.DataLoader(vision.Files(self.root, turned), batch_size=None))
        self.assertEqual({name for name, _ in fetched}, {"Image"})


@unittest.skipUnless(os.path.exists(BINARY), "needs bin/stoker (make build)")
class FedTest(VisionCase):
    """Made by the daemon."""

    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.dict(os.environ, STOKER_BIN=BINARY))
        self.enterContext(mock.patch.object(dispatch.materializer, "line", None))
        self.enterContext(mock.patch.multiple(deferring, _daemon=None, _lost=False, _tried=False))
        self.made, self.refused = (multiprocessing.Value("q") for _ in range(2))
        call = _line.Line.__call__

        def counted(line, jobs):
            refused = call(line, jobs)
            with self.made.get_lock():
                self.made.value += len(jobs)
                self.refused.value += len(jobs if refused is None else refused)
            return refused

        self.enterContext(mock.patch.object(_line.Line, "__call__", counted))

    def test_batches(self):
        for name in vision.PIPELINES:
            with self.subTest(name):
                self.made.value = self.refused.value = 0
                self.assertEqualToPlain(f"vision {name}", 2)
                self.assertEqual(self.made.value == 0, name in REAL)
                self.assertEqual(self.refused.value, 0)

    def test_tried(self):
        """All that torchvision makes here is tried, with both layouts; of what differs a line tells."""
        with contextlib.redirect_stderr(io.StringIO()) as stderr, mock.patch.object(trust, "_find_folder", lambda: None):
            self.assertEqualToPlain("vision training", 0)
        fuses = torch.backends.cpu.get_cpu_capability() != "DEFAULT"
        self.assertEqual("torch_bilinear" in stderr.getvalue(), not fuses)
        self.assertEqual("torch_bilinear" in pictures.untrusted, not fuses)


@unittest.skipUnless(os.path.exists(BINARY), "needs bin/stoker (make build)")
class CommandTest(VisionCase):
    """`stoker feed --`, with each of torch's codes that this processor has."""

    def test_capabilities(self):
        with tempfile.TemporaryDirectory() as cache:
            for capability, names in {"default": ["training", "jitter", "detection", "decoded"], "avx2": ["training", "detection"]}.items():
                with self.subTest(capability):
                    settings = {"ATEN_CPU_CAPABILITY": capability, "XDG_CACHE_HOME": cache, "STOKER_BIN": BINARY}
                    command = [sys.executable, "-W", "ignore", os.path.join(HERE, "deferred_vision.py"), self.root, *names]
                    alone, fed = (
                        subprocess.run([*front, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True, env={**os.environ, **settings})
                        for front in ([], [BINARY, "feed", "--"])
                    )  # fmt: skip
                    self.assertEqual(json.loads(fed.stdout), json.loads(alone.stdout))
                    self.assertRegex(fed.stderr, r"[1-9]\d* of \d+ pictures whole")
                    if torch.backends.cpu.get_cpu_capability() != "DEFAULT":
                        self.assertEqual("torch_bilinear, torch_contrast" in fed.stderr, capability == "default", fed.stderr)
