"""Arrays of deferred pictures: batches equal those of the script alone, and nobody reads what has not been made."""

import hashlib
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import leash  # noqa: F401 # before what it holds

try:
    import array_consumers as table
    import deferred_arrays as arrays
    import deferred_pipelines as pipelines
    import numpy as np
    import torch
    from test_deferred import BINARY, DeferredCase, Here

    from stoker import _arrays, _blanks, _defer, _line, _making, _pictures, _tensors
except ImportError:
    torch, BINARY = None, ""
    DeferredCase = unittest.TestCase

HERE = os.path.dirname(os.path.abspath(__file__))

# Where nothing is asked for before the batch is there.
WAITING = {"DiT", "guided diffusion", "EDM", "taming", "pix2pix", "labelled", "deep", "Hugging Face", "permuted", "normalized", "single array", "letterboxed"}

# What takes NumPy's own type alone, or is C code that asks item by item: raises, so that the fetch is done again without.
STRICT = {
    *(f"numpy {name}" for name in ("as_strided", "dlpack, a negative stride", "frombuffer", "permutation", "permuted", "shuffle", "shuffle of a generator", "unbound", "unbound view")),
    *(f"python {name}" for name in "PickleBuffer bytearray c_char compress crc32 enumerate getitem itemgetter join list map max memoryview pack_into readinto reversed sha256 sum tuple unpack_from write zip".split()),
    *(f"torch {name}" for name in ("from_numpy", "frombuffer", "frombuffer of Pillow", "frombytes")), "other numba njit", "other scipy.fft dct", "other scipy.ndimage label", "other h5py write", "other pyarrow buffer", "other pyarrow tensor", "other numba vectorize",
    "other skimage.filters median", "other skimage.measure contours", "other skimage.measure label",
}  # fmt: skip
if torch is not None and torch.__version__ < (2, 12):
    STRICT.add("torch bound asarray")


def setUpModule():
    if torch is None:
        return
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    ArraysCase.root = folder.name
    done = subprocess.run([sys.executable, "-W", "ignore", os.path.join(HERE, "deferred_arrays.py"), folder.name], stdout=subprocess.PIPE, check=True)
    ArraysCase.plain = json.loads(done.stdout)


@unittest.skipIf(torch is None, "needs torch and torchvision")
class ArraysCase(DeferredCase):
    def setUp(self):
        super().setUp()
        self.addCleanup(_arrays._refused.__setitem__, slice(None), bytes(2))
        self.here = Here()
        self.enterContext(mock.patch.object(_making.maker, "line", self.here))
        self.enterContext(mock.patch.object(_defer, "_checked", True))
        _defer._install()
        self.connected, self.supply = _defer._connected, _defer._supply
        self.enterContext(mock.patch.object(_defer, "_connected", lambda: True))
        self.enterContext(mock.patch.object(_defer, "_everywhere", True))
        self.enterContext(mock.patch.object(_defer, "_supply", lambda count: None))


@unittest.skipUnless(os.path.exists(BINARY), "needs bin/stoker (make build)")
class FedTest(ArraysCase):
    """Made by the daemon."""

    def test_batches(self):
        self.enterContext(mock.patch.dict(os.environ, STOKER_BIN=BINARY))
        self.enterContext(mock.patch.object(_making.maker, "line", None))
        self.enterContext(mock.patch.multiple(_defer, _daemon=None, _lost=False, _connected=self.connected, _supply=self.supply))
        made, left = (multiprocessing.Value("q") for _ in range(2))
        call = _line.Line.__call__

        def counted(line, jobs):
            refused = call(line, jobs)
            with made.get_lock():
                made.value += len(jobs)
                left.value += len(jobs if refused is None else refused)
            return refused

        self.enterContext(mock.patch.object(_line.Line, "__call__", counted))
        for name in arrays.PIPELINES:
            with self.subTest(name):
                made.value = left.value = 0
                _arrays._refused[:] = bytes(2)
                self.assertEqualToPlain(name, 2)
                self.assertGreater(made.value, 0)
                self.assertEqual(left.value, 0)


class RecordedTest(ArraysCase):
    """What is recorded, made by Pillow."""

    def test_batches(self):
        for name in arrays.PIPELINES:
            for workers in (0, 2):
                with self.subTest(name, workers=workers):
                    self.here.count.value, _arrays._refused[:] = 0, bytes(2)
                    self.assertEqualToPlain(name, workers)
                    self.assertGreater(self.here.count.value, 0)

    def test_waits(self):
        """What is recorded to the end is made for the whole batch."""
        asked = []
        with mock.patch.object(_pictures.Recording, "needed", staticmethod(asked.append)):
            for name in sorted(WAITING):
                with self.subTest(name):
                    self.assertEqualToPlain(name, 0)
                    self.assertEqual(asked, [])

    def test_torch_asarray(self):
        """It leaves an array waiting."""
        self.assertTrue(_defer._ready())
        path = sorted(arrays.Pictures(self.root, None).files)[0][0]
        for more in ({}, {"dtype": torch.float32}):
            with self.subTest(more):

                def fetch():
                    tensor = torch.asarray(np.asarray(arrays.opened(path)), **more)  # noqa: B023
                    return tensor, type(tensor) is _tensors.Later

                made, waits = _defer._deferred(fetch, _pictures.Recording(True, _pictures.Tally()))
                self.assertTrue(waits)
                self.assertTrue(torch.equal(made, fetch()[0]))

    def test_still(self):
        """Where the first batches have no arrays, only what makes some is stood for: the first is real, and later ones wait."""
        self.assertTrue(_defer._ready())
        self.enterContext(mock.patch.object(_arrays, "_been", set()))
        path, tally, seen = sorted(arrays.Pictures(self.root, None).files)[0][0], _pictures.Tally(), []
        expected = np.array(arrays.opened(path))

        def fetch(wanted):
            image = arrays.opened(path)
            array = np.array(image) if wanted else None
            seen.append((type(array) is _arrays.LaterArray, type(torch.tensor) is _arrays._Standing))
            return array

        for wanted in (False, False, False, True, True):
            batch = _defer._deferred(lambda: fetch(wanted), _pictures.Recording(True, tally))  # noqa: B023 # called at once
            if wanted:
                np.testing.assert_array_equal(batch, expected)
        self.assertEqual(seen, [(False, True), (False, True), (False, False), (False, False), (True, True)])
        self.assertIsNone(_defer._deferred(lambda: _pictures.deferred(expected), _pictures.Recording(True, tally)))  # no picture

    def test_consumers(self):
        """Whoever reads memory gets what it would have got of a real array, or raises: never anything else."""
        self.assertTrue(_defer._ready())
        image = arrays.opened(sorted(arrays.Pictures(self.root, None).files)[0][0]).resize((13, 11))
        path = os.path.join(self.root, "consumed.png")
        image.save(path)
        kinds = {
            "whole": lambda image: np.array(image), "read-only": lambda image: np.asarray(image), "cut": lambda image: np.array(image)[1:10, 2:12], "turned": lambda image: np.array(image)[:, ::-1],
            "view": lambda image: np.array(image).transpose(1, 0, 2), "copied": lambda image: np.array(image).copy(), "laid": laid, "blank": blank,
        }  # fmt: skip
        raised, equal = set(), 0
        for name, act in table.consumers().items():
            for kind, take in kinds.items():
                with self.subTest(name, kind=kind):
                    _blanks._places.clear()
                    alone, error = table.outcome(act, take(arrays.opened(path)))
                    expected = hashed(alone)
                    found = _pictures.Recording(True, _pictures.Tally())

                    def fetch():
                        waiting = take(arrays.opened(path))  # noqa: B023
                        self.assertTrue(waiting.cell.plan is not None or type(waiting.cell) is _blanks.Blank)
                        return list(table.outcome(act, waiting))  # noqa: B023

                    try:
                        made, failed = _defer._deferred(fetch, found)
                    except TypeError:  # it was taken for a sequence, whatever came of that: the fetch is done again
                        self.assertTrue(found.sequence)
                        continue
                    if failed is None:
                        self.assertIsNone(error)
                        self.assertEqual(hashed(made), expected)
                        equal += 1
                    elif error is None:
                        raised.add(name)
        self.assertGreater(equal, 400)
        self.assertLessEqual(raised, STRICT)


def laid(image):
    """A picture in a new array."""
    made = np.full((11, 13, 3), (9, 8, 7), np.uint8)
    made[2:9, 1:12] = np.array(image)[:7, 2:]
    return made


def blank(image):
    """A new array that might have had one."""
    part, made = np.array(image), np.full((11, 13, 3), 177, np.uint8)
    if image is None:
        made[2:9] = part
    return made


def hashed(value):
    into = hashlib.sha256()
    pipelines.digest(value, into)
    return into.hexdigest()


if __name__ == "__main__":
    unittest.main()
