"""Deferred pictures: what a fed DataLoader gives is what the unchanged one gives."""

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import leash

try:
    import deferred_pipelines as pipelines
    import torch

    from stoker import _defer, _line, _making
except ImportError:
    torch = None

HERE = os.path.dirname(os.path.abspath(__file__))

# Where nothing can be deferred: read as arrays or pixels at once, by threads of the program's own, or no JPEG is asked for.
REAL = {"numpy", "arrays", "reflected", "threads", "touched", "drafted", "pictures"}


def setUpModule():
    if torch is None:
        return
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    DeferredCase.root = folder.name
    done = subprocess.run([sys.executable, "-W", "ignore", os.path.join(HERE, "deferred_pipelines.py"), folder.name], stdout=subprocess.PIPE, check=True)
    DeferredCase.plain = json.loads(done.stdout)


class Here:
    """In place of the daemon's line: makes nothing, so that Pillow does it, and counts."""

    def __init__(self):
        self.count = multiprocessing.Value("q")

    def alive(self):
        return True

    def __call__(self, jobs):
        with self.count.get_lock():
            self.count.value += len(jobs)
        return jobs


@unittest.skipIf(torch is None, "needs torch and torchvision")
class DeferredCase(unittest.TestCase):
    def setUp(self):
        leash.hold(self)
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore")

    def assertEqualToPlain(self, name, workers, **settings):
        self.assertEqual(pipelines.digests(name, self.root, workers, **settings), self.plain[f"{name}/{workers}"])


class RecordedTest(DeferredCase):
    """What is recorded, made by Pillow."""

    def setUp(self):
        super().setUp()
        self.here = Here()
        self.enterContext(mock.patch.object(_making, "daemon", self.here))
        _defer._install()
        self.enterContext(mock.patch.object(_defer, "_connected", lambda: True))
        self.enterContext(mock.patch.object(_defer, "_everywhere", True))
        self.enterContext(mock.patch.object(_defer, "_ends", lambda count: []))

    def test_batches(self):
        for name in pipelines.PIPELINES:
            for workers in (0, 2):
                with self.subTest(name, workers=workers):
                    self.here.count.value = 0
                    self.assertEqualToPlain(name, workers)
                    self.assertEqual(self.here.count.value == 0, name in REAL, self.here.count.value)

    def test_losses(self):
        for name in ("folder", "reference", "mixup"):
            with self.subTest(name):
                self.assertEqual(pipelines.losses(name, self.root, 2), self.plain[f"losses/{name}"])


BINARY = os.path.join(os.path.dirname(os.path.dirname(HERE)), "bin", "stoker")


@unittest.skipUnless(os.path.exists(BINARY), "needs bin/stoker (make build)")
class DaemonTest(DeferredCase):
    """Made by the daemon."""

    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.dict(os.environ, STOKER_BIN=BINARY))
        self.enterContext(mock.patch.object(_making, "daemon", None))
        self.enterContext(mock.patch.object(_defer, "_daemon", None))
        self.enterContext(mock.patch.object(_defer, "_lost", False))
        self.enterContext(mock.patch.object(_defer, "_everywhere", True))
        self.left = multiprocessing.Value("q")
        self.all = multiprocessing.Value("q")
        _defer._install()
        call = _line.Line.__call__

        def counted(line, jobs):
            left = call(line, jobs)
            with self.all.get_lock():
                self.all.value += len(jobs)
                self.left.value += len(left)
            return left

        self.enterContext(mock.patch.object(_line.Line, "__call__", counted))

    def test_batches(self):
        for name in pipelines.PIPELINES:
            for workers in (0, 2):
                with self.subTest(name, workers=workers):
                    self.all.value = self.left.value = 0
                    self.assertEqualToPlain(name, workers)

    def test_losses(self):
        for name in ("folder", "reference", "mixup"):
            with self.subTest(name):
                self.assertEqual(pipelines.losses(name, self.root, 2), self.plain[f"losses/{name}"])

    def test_start_methods(self):
        for method in ("spawn", "forkserver"):
            with self.subTest(method):
                self.assertEqualToPlain("reference", 2, multiprocessing_context=method)


if __name__ == "__main__":
    unittest.main()
