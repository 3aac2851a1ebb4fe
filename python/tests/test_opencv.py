"""OpenCV's arrays that wait: batches equal those of the script alone, with the installed OpenCV and albumentations."""

import io
import multiprocessing
import os
import struct
import tempfile
import unittest
from unittest import mock

try:
    import cv2
    import opencv_pipelines as pipelines
    import test_deferred_arrays as of_arrays
    import torch
    from test_deferred_arrays import BINARY, ArraysCase, hashed

    from stoker import _cv_files, _cv_trials, _defer, _further, _line, _making, _opencv, _pictures, _trust
except ImportError:
    cv2, ArraysCase, BINARY = None, unittest.TestCase, None
else:
    import array_consumers as table
    import numpy as np
    from PIL import Image

# Where nothing is asked for before the batch is there.
WAITING = {
    "cropped", "decoded", "turned", "coloured", "filtered", "normalised", "boxed", "letterboxed", "mosaic", "training", "validation", "rotated", "competition",
}  # fmt: skip
NEEDED = "needs OpenCV and PyTorch (python/install-torch has both)"


def flags():
    """Of the processor."""
    with open("/proc/cpuinfo") as file:
        return {*file.read().partition("\n\n")[0].split()}


@unittest.skipIf(cv2 is None, NEEDED)
class OpenCVCase(ArraysCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = folder.name
        pipelines.write(cls.root)

    def setUp(self):
        super().setUp()
        self.addCleanup(_trust.trust, set(_pictures.left))
        self.enterContext(mock.patch.multiple(_opencv, checked=True, dear=set))
        self.enterContext(mock.patch.object(_further, "_known", {"opencv"}))

    def assertEqualAlone(self, name, workers):
        data = pipelines.Files(self.root, pipelines.pipelines()[name])
        alone = [torch.utils.data.default_collate([data[i] for i in range(at, at + 4)]) for at in range(0, len(data), 4)]
        fed = list(torch.utils.data.DataLoader(data, 4, num_workers=workers, collate_fn=torch.utils.data.default_collate))
        self.assertEqual(hashed(fed), hashed(alone))


@unittest.skipIf(cv2 is None, NEEDED)
class RecordedTest(OpenCVCase):
    """What is recorded, made by OpenCV and Pillow."""

    def test_batches(self):
        for name in pipelines.pipelines():
            for workers in (0, 2):
                with self.subTest(name, workers=workers):
                    self.here.count.value = 0
                    self.assertEqualAlone(name, workers)
                    self.assertGreater(self.here.count.value, 0)

    def test_waits(self):
        asked = []
        with mock.patch.object(_pictures.Recording, "needed", staticmethod(asked.append)):
            for name in sorted(WAITING & pipelines.pipelines().keys()):
                with self.subTest(name):
                    self.assertEqualAlone(name, 0)
                    self.assertEqual(asked, [])

    def test_again(self):
        """What was taken away, as a data set was hopeless, is put in place again for the next."""
        for _ in range(2):
            for name in sorted({"competition", "cropped"} & pipelines.pipelines().keys()):
                self.assertEqualAlone(name, 0)
            self.assertFalse(of_arrays._arrays._refused[0])
            _pictures.uninstall()

    def test_left(self):
        """What was found to differ is OpenCV's own, and equal."""
        names = {row[0] for row in _cv_trials._ROWS}
        _pictures.left |= names
        for name in pipelines.pipelines():
            with self.subTest(name):
                self.here.count.value = 0
                self.assertEqualAlone(name, 0)
                self.assertEqual(self.here.count.value, 0)

    def test_arm64(self):
        """What OpenCV rounds otherwise there is left to it, whatever small pictures told."""
        for machine, known in (("aarch64", True), ("x86_64", False)):
            with self.subTest(machine), mock.patch("platform.machine", return_value=machine):
                _pictures.left.difference_update(_opencv.ROUNDED_ON_ARM64)
                _opencv.wait_but_for(set())
                self.assertEqual(_opencv.ROUNDED_ON_ARM64 <= _pictures.left, known)
        self.assertLessEqual(_opencv.ROUNDED_ON_ARM64, {row[0] for row in _cv_trials._ROWS})

    def test_arguments(self):
        """What OpenCV does not take, or does in another way, is its own."""
        recipe = _pictures.Recipe(_opencv.CvSource(b"", "PNG", "RGB", (9, 9)), (), "RGB", (9, 9))
        narrow = _pictures.Recipe(_opencv.CvSource(b"", "PNG", "L", (3, 9)), (), "L", (3, 9))
        flat = np.array([[1, 0, 0], [0, 0, 0], [0, 0, 1.0]])
        for sizes, *rest, right in (
            ((0, 0), 1.5, True), ((5, 0), 1.5, True), ((5, 3), 0, True), ((5, 3), -1, None, 2, 0, True),
            ((0, 0), 0, False), ((0, 5), -1, False), ((4, 5), 1, False), ((-3, 5), 1, False), ((301, 5), 1, False),
            ((0, 0), 99, False), ((5, 5), float("nan"), False), ((5, 5), 1, None, 0, 3, False), ((5, 5), 1, None, 0, 20, False),
        ):  # fmt: skip
            self.assertEqual(_opencv._blurred(recipe, sizes, *rest) is not None, right, (sizes, rest))
        self.assertIsNotNone(_opencv._resized(recipe, (5, 5), interpolation=2))
        self.assertIsNone(_opencv._resized(narrow, (5, 5), interpolation=2))
        self.assertIsNotNone(_opencv._projected(recipe, np.eye(3), (5, 5)))
        for matrix in (flat, np.eye(3)[:2], np.eye(3, dtype=np.int64), np.full((3, 3), np.nan)):
            self.assertIsNone(_opencv._projected(recipe, matrix, (5, 5)))

    def test_unchecked(self):
        """Nothing waits before it was compared."""
        with mock.patch.object(_opencv, "checked", False):
            self.here.count.value = 0
            self.assertEqualAlone("cropped", 0)
            self.assertEqual(self.here.count.value, 0)

    def test_consumers(self):
        """Whoever reads memory gets what it would have got of a real array, or raises: never anything else."""
        self.assertTrue(_defer._ready())
        path = os.path.join(self.root, "000.jpg")
        kinds = {
            "read": lambda: cv2.resize(cv2.imread(path), (13, 11)),
            "merged": lambda: cv2.merge(cv2.split(cv2.resize(cv2.imread(path), (13, 11)))[::-1]),
            "looked up": lambda: cv2.LUT(cv2.resize(cv2.imread(path), (13, 11)), np.arange(256, dtype=np.uint8)[::-1].copy()),
        }
        equal = 0
        for name, act in table.consumers().items():
            for kind, take in kinds.items():
                with self.subTest(name, kind=kind):
                    alone, error = table.outcome(act, take())
                    found = _pictures.Recording(True, _pictures.Tally())

                    def fetch():
                        waiting = take()  # noqa: B023
                        self.assertIsNotNone(waiting.cell.plan)
                        return list(table.outcome(act, waiting))  # noqa: B023

                    try:
                        made, failed = _defer._deferred(fetch, found)
                    except TypeError:  # it was taken for a sequence, whatever came of that: the fetch is done again
                        self.assertTrue(found.sequence)
                        continue
                    if failed is None:
                        self.assertIsNone(error)
                        self.assertEqual(hashed(made), hashed(alone))
                        equal += 1
                    elif error is None:
                        self.assertIn(name, of_arrays.STRICT)
        self.assertGreater(equal, 200)


@unittest.skipIf(cv2 is None, NEEDED)
@unittest.skipUnless(BINARY and os.path.exists(BINARY), "needs bin/stoker (make build)")
class FedTest(OpenCVCase):
    """Made by the daemon."""

    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.dict(os.environ, STOKER_BIN=BINARY))
        self.enterContext(mock.patch.object(_making.maker, "line", None))
        self.enterContext(mock.patch.multiple(_defer, _daemon=None, _lost=False, _connected=self.connected, _supply=self.supply))

    def differing(self):
        """What does here: not every version and processor has the same bytes."""
        self.assertTrue(_defer._connected() and _defer._ready())
        found = _trust._try(_making.maker.line, _cv_trials.trials)
        _making.maker.line = None
        if cv2.__version__ >= "5" and {"avx2", "fma"} <= flags() and "avx512f" not in flags():
            self.assertEqual(found, set())  # bench/loader/OPENCV.md
        return found

    def test_batches(self):
        _pictures.left |= self.differing()
        made, left = (multiprocessing.Value("q") for _ in range(2))
        call = _line.Line.__call__

        def counted(line, jobs):
            refused = call(line, jobs)
            with made.get_lock():
                made.value += len(jobs)
                left.value += len(jobs if refused is None else refused)
            return refused

        self.enterContext(mock.patch.object(_line.Line, "__call__", counted))
        for name in pipelines.pipelines():
            with self.subTest(name):
                made.value = left.value = 0
                self.assertEqualAlone(name, 2)
                self.assertGreater(made.value, 0)
                self.assertEqual(left.value, 0)

    def test_damaged(self):
        """Files that OpenCV reads in part, or not at all."""
        self.assertTrue(_defer._connected() and _defer._ready())
        with open(os.path.join(self.root, "000.jpg"), "rb") as file:
            sound = file.read()
        chance = np.random.default_rng(4)
        for number in range(40):
            data = bytearray(sound)
            if number % 3:
                for at in chance.integers(len(data) // 3, len(data) - 2, 3):
                    data[at] = chance.integers(256)
            else:
                data = data[: chance.integers(20, len(data))]
            data = np.frombuffer(bytes(data), np.uint8)
            with self.subTest(number):
                alone = cv2.imdecode(data, cv2.IMREAD_COLOR)
                fed = _defer.fed(lambda: [cv2.imdecode(data, cv2.IMREAD_COLOR)], None)[0]  # noqa: B023
                self.assertEqual(fed is None, alone is None)
                if alone is not None:
                    np.testing.assert_array_equal(fed, alone)

    def test_checked(self):
        """What OpenCV does faster is left to it, as is what differs."""
        differs = self.differing()

        def tried(line, kind, *rest):
            return {"OpenCV's gray"} | differs if kind == "opencv" else set()

        with mock.patch.multiple(_opencv, checked=False, dear=lambda: {_opencv.AFFINE, _opencv.WHOLE}), mock.patch.object(_further, "_known", set()):
            with mock.patch.object(_trust, "check", tried), mock.patch.object(_defer, "_say_once") as said:
                self.assertTrue(_defer._connected() and _defer._ready())
            self.assertTrue(_opencv.checked)
        self.assertLessEqual({_opencv.AFFINE, "OpenCV's gray"}, _pictures.left)
        self.assertRegex(said.call_args.args[0], r"whose bytes differ from the daemon's here: (.*, )?gray")
        for name in sorted({"turned", "training", "competition"} & pipelines.pipelines().keys()):
            self.assertEqualAlone(name, 0)
        asked = []
        with mock.patch.object(_pictures.Recording, "needed", staticmethod(asked.append)):
            self.assertEqualAlone("cropped", 0)  # of which a part is read
            if not any(name.startswith(_opencv.RESIZE) for name in differs):
                self.assertEqual(asked, [])
            self.assertEqualAlone("into", 0)
            self.assertNotEqual(asked, [])

    def test_trials(self):
        """All that is tried is known to the daemon, and another byte is noticed."""
        self.assertTrue(_defer._connected() and _defer._ready())
        line = _making.maker.line
        left = _trust._try(line, _cv_trials.trials)
        self.assertLessEqual(left, {row[0] for row in _cv_trials._ROWS} - {"OpenCV's JPEG", "OpenCV's PNG"})

        def other(jobs):
            refused = line(jobs)
            for job in jobs:
                if any(op[0] == "cv_gray" for op in job.recipe.ops):
                    job.place[0, 3, 4] ^= 1
            return refused

        self.assertEqual(_trust._try(other, _cv_trials.trials), left | {"OpenCV's gray"})


@unittest.skipIf(cv2 is None, NEEDED)
class HeaderTest(unittest.TestCase):
    """Which files wait."""

    def written(self, kind, mode="RGB", **how):
        out = io.BytesIO()
        Image.effect_noise((23, 31), 99).convert(mode).save(out, kind, **how)
        return out.getvalue()

    def test_orientation(self):
        for order in "<>":
            for orientation in range(10):
                entries = struct.pack(order + "HHHIHH", 1, 0x0112, 3, 1, orientation, 0)
                tiff = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", 8) + entries + bytes(4)
                data = self.written("JPEG", exif=b"Exif\0\0" + tiff)
                with self.subTest(order=order, orientation=orientation):
                    header = _cv_files.header_of(data)
                    image = Image.open(io.BytesIO(data))
                    turned = image if header.turn is None else image.transpose(header.turn)
                    expected = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
                    np.testing.assert_array_equal(np.asarray(turned)[..., ::-1], expected)

    def test_unknown(self):
        wrong = struct.pack("<HHHII", 1, 0x0112, 4, 1, 6)  # of another type
        twice = struct.pack("<HHHIHHHHIHH", 2, 0x0112, 3, 1, 6, 0, 0x0112, 3, 1, 3, 0)
        far = struct.pack("<HHHII", 1, 0x010F, 2, 99, 9999)
        for entries in (wrong, twice, far, b"", struct.pack("<H", 9)):
            with self.subTest(entries):
                self.assertIsNone(_cv_files.orientation_of(b"II*\0" + struct.pack("<I", 8) + entries))
        self.assertIsNone(_cv_files.orientation_of(b"XX*\0" + bytes(9)))
        for data in (
            self.written("JPEG", "CMYK"), self.written("PNG", "RGBA"), self.written("PNG", "P"), self.written("PNG", "LA"), self.written("PNG", "1"),
            self.written("PNG", exif=b"Exif\0\0II*\0"), self.written("PNG", transparency=(1, 2, 3)), self.written("BMP"), self.written("PNG")[:-20], b"", b"\xff\xd8", b"\x89PNG\r\n\x1a\n",
        ):  # fmt: skip
            self.assertIsNone(_cv_files.header_of(data))

    def test_known(self):
        for kind, mode in (("JPEG", "RGB"), ("JPEG", "L"), ("PNG", "RGB"), ("PNG", "L")):
            self.assertEqual(_cv_files.header_of(self.written(kind, mode)), (kind, mode, (23, 31), None))


if __name__ == "__main__":
    unittest.main()
