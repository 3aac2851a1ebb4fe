"""`stoker pack`: what ImageFolder has of a folder comes back out of the shards, byte by byte, also after kills.

Needs bin/stoker (make build), torchvision and Pillow; with the package webdataset that reads the shards as well.
"""

import glob
import hashlib
import io
import json
import os
import re
import subprocess
import tarfile
import tempfile
import unittest

import leash
from test_feed_pixels import kinds, missing

try:
    import numpy as np
    from PIL import Image
    from torchvision.datasets import ImageFolder
    from torchvision.transforms import functional as F
except ImportError:
    pass

import stoker

ODD = ["a.b.jpg", "a.c.jpg", "a.png", "a.PNG", "a.jpg", "a%2Eb.jpg", "\udcff.jpg", "é ö.jpg", "two\nlines.jpg", ".jpg"]


def grouped(shards):
    """Samples as WebDataset's group_by_keys makes them."""
    for shard in shards:
        last, sample = None, {}
        with tarfile.open(shard) as archive:
            for member in archive:
                key, field = re.match(r"^((?:.*/|)[^.]+)[.]([^/]*)$", member.name).groups()
                assert not re.match(r"__[^/]*__($|/)", member.name), member.name
                if key != last:
                    if sample:
                        yield sample
                    last, sample = key, {}
                assert field.lower() not in sample, member.name
                sample[field.lower()] = archive.extractfile(member).read()
        yield sample


def by_webdataset(shards):
    import webdataset

    for sample in webdataset.WebDataset(list(shards), shardshuffle=False):
        yield {key: value for key, value in sample.items() if not key.startswith("__")}


def packed(samples):
    """Of each sample by its path: label, field, bytes."""
    found = {}
    for sample in samples:
        about, label = json.loads(sample.pop("json")), int(sample.pop("cls"))
        ((field, data),) = sample.items()
        assert about["label"] == label and about["path"] not in found, about
        found[about["path"]] = label, field, data
    return found


class Packs(unittest.TestCase):
    def setUp(self):
        if why := missing():
            self.skipTest(why)
        leash.hold(self)
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.root = os.path.join(self.folder, "train")
        random = np.random.default_rng(5)
        self.files = list(kinds(random))
        for number, (name, data) in enumerate(self.files):
            self.write(f"{'cat' if number % 3 else '__dog__'}/{number:03d}{os.path.splitext(name)[1] or '.jpg'}", data)
        for name in ODD:
            self.write(f"v1.0/{name}", self.files[0][1] + name.encode(errors="surrogateescape"))

    def write(self, name, data):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)

    def pack(self, to, *flags, wait=True):
        command = [stoker.find_binary(), "pack", self.root, "-o", os.path.join(self.folder, to), "--shard-size", "1MB", *flags]
        if not wait:
            return subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return sorted(glob.glob(os.path.join(self.folder, to, "shard-*.tar")))

    def test_samples_are_image_folders(self):
        want = {}
        for path, label in ImageFolder(self.root).samples:
            with open(path, "rb") as file:
                want[os.path.relpath(path, self.root)] = label, os.path.splitext(path)[1].lower()[1:], file.read()
        want[os.path.join("v1.0", ".jpg")] = (*want[os.path.join("v1.0", ".jpg")][:1], "jpg", want[os.path.join("v1.0", ".jpg")][2])
        shards = self.pack("packed", "--shuffle", "3", "--verify")
        self.assertGreater(len(shards), 2)
        self.assertEqual(packed(grouped(shards)), want)
        try:
            again = by_webdataset(shards)
            self.assertEqual(packed(again), want)
        except ImportError:
            pass

    def test_pixels_are_pillows(self):
        for name in list(os.listdir(os.path.join(self.root, "v1.0"))):
            os.remove(os.path.join(self.root, "v1.0", name))
        self.write("v1.0/1.jpg", self.files[0][1])
        for flags, size in ((("--decoded",), None), (("--decoded", "--resize", "40"), 40)):
            with self.subTest(flags):
                shards = self.pack("packed" + str(size), *flags, "--skip-bad", "--verify")
                found = packed(grouped(shards))
                self.assertGreater(len(found), len(self.files) // 2)
                for path, (_, field, data) in found.items():
                    image = Image.open(os.path.join(self.root, path)).convert("RGB")
                    want = F.resize(image, size) if size and min(image.size) > size else image
                    self.assertEqual(field, "ppm")
                    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(data))), np.asarray(want), path)

    def test_killed_at_any_moment(self):
        def all_of(folder):
            digests = {}
            for name in os.listdir(os.path.join(self.folder, folder)):
                with open(os.path.join(self.folder, folder, name), "rb") as file:
                    digests[name] = hashlib.sha256(file.read()).digest()
            return digests

        shards = len(self.pack("whole"))
        want = all_of("whole")
        for number in range(0, shards, max(1, shards // 5)):
            process = self.pack("packed", wait=False)
            first = os.path.join(self.folder, "packed", f"shard-{number:06d}.tar")
            leash.wait(self, lambda at=first, process=process: os.path.exists(at) or process.poll() is not None)
            process.kill()
            process.wait()
            for name, digest in all_of("packed").items():
                if not name.endswith(".partial"):
                    self.assertEqual(digest, want[name], name)
        self.pack("packed", "--verify")
        self.assertEqual(all_of("packed"), want)


if __name__ == "__main__":
    unittest.main()
