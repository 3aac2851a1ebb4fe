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
    from PIL import Image

    from stoker import _defer, _making
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
    DeferredTest.root = folder.name
    done = subprocess.run([sys.executable, "-W", "ignore", os.path.join(HERE, "deferred_pipelines.py"), folder.name], stdout=subprocess.PIPE, check=True)
    DeferredTest.plain = json.loads(done.stdout)
    _defer.install()


@unittest.skipIf(torch is None, "needs torch and torchvision")
class DeferredTest(unittest.TestCase):
    def setUp(self):
        leash.hold(self)
        self.made = multiprocessing.Value("q")

        def daemon(jobs):
            with self.made.get_lock():
                self.made.value += len(jobs)
            return jobs

        self.enterContext(mock.patch.object(_making, "daemon", daemon))
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore")

    def test_batches(self):
        for name in pipelines.PIPELINES:
            for workers in (0, 2):
                with self.subTest(name, workers=workers):
                    self.made.value = 0
                    self.assertEqual(pipelines.digests(name, self.root, workers), self.plain[f"{name}/{workers}"])
                    self.assertEqual(self.made.value == 0, name in REAL, self.made.value)

    def test_losses(self):
        for name in ("folder", "reference", "mixup"):
            with self.subTest(name):
                self.assertEqual(pipelines.losses(name, self.root, 2), self.plain[f"losses/{name}"])


if __name__ == "__main__":
    unittest.main()
