"""`stoker pack`: what ImageFolder has of a folder comes back out of the shards, byte by byte, also after kills.

Needs bin/stoker (make build), torchvision and Pillow; with the package webdataset that reads the shards as well.
"""

import glob
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import warnings

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

# Saves after each batch what it had and where it stands, and waits behind the fifth.
TRAINER = """
import json, os, sys
import stoker
ops = [{"op": "random_resized_crop", "size": [32]}, {"op": "random_horizontal_flip"}, {"op": "to_tensor"}]
had, loader = [], stoker.Loader(sys.argv[1], ops, shuffle=True, seed=4, batch_size=2, num_workers=1)
for number, batch in enumerate(loader):
    had += batch.indices.tolist()
    with open(sys.argv[2] + ".new", "w") as file:
        json.dump([had, loader.state_dict()], file)
    os.replace(sys.argv[2] + ".new", sys.argv[2])
    print(number, flush=True)
    if number == 4:
        sys.stdin.read()
"""

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
        command = [stoker.find_binary(), "pack", self.root, "-o", os.path.join(self.folder, to), *([] if "--shard-size" in flags else ["--shard-size", "1MB"]), *flags]
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

    def soundless(self):
        """Files that all of stoker can read, in the place of all others."""
        shutil.rmtree(self.root)
        random = np.random.default_rng(6)
        for number in range(24):
            noise = random.integers(0, 256, (70 + number, 90, 3), np.uint8)
            file = io.BytesIO()
            Image.fromarray(noise).resize((110 + number, 80)).save(file, "PNG" if number % 5 == 4 else "JPEG")
            self.write(f"{'abc'[number % 3]}/{number:02d}.{'png' if number % 5 == 4 else 'jpg'}", file.getvalue())

    def read(self, root, **more):
        ops = [{"op": "random_resized_crop", "size": [32]}, {"op": "random_horizontal_flip"}, {"op": "to_tensor"}]
        return stoker.Loader(root, ops, shuffle=True, seed=4, **{"batch_size": 5, "num_workers": 1, **more})

    def test_read_as_its_folder(self):
        self.soundless()
        self.pack("packed", "--shuffle", "9")
        self.pack("pixels", "--decoded")
        self.pack("small", "--resize", "40")
        with self.read(self.root) as loader:
            first = next(iter(loader)).indices
            state = loader.state_dict()
            want = [(batch.images.copy(), batch.labels.copy()) for _ in range(2) for batch in iter(loader)]
        for name in ("packed", "pixels"):
            with self.subTest(name), self.read(os.path.join(self.folder, name)) as loader:
                np.testing.assert_array_equal(next(iter(loader)).indices, first)
                self.assertEqual(loader.state_dict(), state)
                got = [(batch.images.copy(), batch.labels.copy()) for _ in range(2) for batch in iter(loader)]
                self.assertEqual(len(got), len(want))
                for ours, theirs in zip(got, want):
                    np.testing.assert_array_equal(ours[0], theirs[0])
                    np.testing.assert_array_equal(ours[1], theirs[1])
        with self.read(os.path.join(self.folder, "small")) as loader:
            with self.assertRaisesRegex(stoker.StokerError, "manifest|other samples|data set"):
                loader.load_state_dict(state)
                next(iter(loader))

    def test_goes_on_at_another_world_size(self):
        """What one process has not had of an epoch of the folder two have of the pack, each sample once."""
        self.soundless()
        self.pack("packed", "--shuffle", "9")
        with self.read(self.root) as loader:
            batches = iter(loader)
            had = [*next(batches).indices, *next(batches).indices]
            state = loader.state_dict()
        rest = []
        for rank in range(2):
            with self.read(os.path.join(self.folder, "packed"), rank=rank, world=2, name=f"rank{rank}", tail="short") as loader:
                loader.load_state_dict(state)
                rest += [int(index) for batch in iter(loader) for index in batch.indices[batch.mask]]
        self.assertEqual(sorted([*had, *rest]), list(range(24)))

    def test_killed_in_mid_epoch(self):
        """A trainer that is killed loses and repeats nothing: two ranks go on from the last state that it saved."""
        self.soundless()
        self.pack("packed", "--shuffle", "9", "--shard-size", "20kB")
        root, saved = os.path.join(self.folder, "packed"), os.path.join(self.folder, "state.json")
        for lines in (1, 3, 5):
            command = [sys.executable, "-c", TRAINER, root, saved]
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as trainer:
                for _ in range(lines):
                    self.assertTrue(trainer.stdout.readline())
                trainer.kill()
            with open(saved) as file:
                had, state = json.load(file)
            self.assertTrue(2 * lines <= len(had) <= 10, had)
            for rank in range(2):
                with self.read(root, rank=rank, world=2, name=f"rank{rank}", batch_size=2) as loader:
                    loader.load_state_dict(state)
                    had += [int(index) for batch in loader for index in batch.indices[batch.mask]]
            self.assertEqual(sorted(had), list(range(24)))

    def test_data_set(self):
        """stoker.Pack is ImageFolder of the folder, for torch's loader and for ours."""
        import torch
        from torchvision import transforms

        self.soundless()
        self.pack("packed", "--shuffle", "9")
        transform = transforms.Compose([transforms.Resize(40), transforms.CenterCrop(32), transforms.ToTensor()])
        folder, pack = ImageFolder(self.root, transform), stoker.Pack(os.path.join(self.folder, "packed"), transform)
        self.assertEqual((pack.classes, pack.class_to_idx, pack.targets), (folder.classes, folder.class_to_idx, folder.targets))
        for ours, theirs in zip(pack, folder):
            self.assertTrue(torch.equal(ours[0], theirs[0]) and ours[1] == theirs[1])
        for subset in (lambda data: data, lambda data: torch.utils.data.Subset(data, [5, 3, 20, 7, 1, 0])):
            with warnings.catch_warnings():
                warnings.simplefilter("error", stoker.StokerWarning)  # that it is torch's own loader
                got = list(stoker.DataLoader(subset(pack), batch_size=4, shuffle=True, seed=3, num_workers=1, depth=16))
                want = list(stoker.DataLoader(subset(folder), batch_size=4, shuffle=True, seed=3, num_workers=1, depth=16))
            self.assertEqual(len(got), len(want))
            for ours, theirs in zip(got, want):
                self.assertTrue(torch.equal(ours[0], theirs[0]) and torch.equal(ours[1], theirs[1]))

    def test_damaged(self):
        """A sentence names shard and file; all others are read, and none twice."""
        self.soundless()
        shard = self.pack("packed", "--shard-size", "20kB")[1]
        with open(shard.replace(".tar", ".json")) as file:
            sample = json.load(file)["samples"][0]
        with open(shard, "r+b") as file:
            file.seek(sample["at"] + sample["bytes"] // 2)
            byte = file.read(1)[0]
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte ^ 1]))
        root = os.path.join(self.folder, "packed")
        with self.read(root) as loader, self.assertRaisesRegex(stoker.StokerError, f"shard-000001.tar/{sample['path']}.*damaged"):
            list(loader)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with self.read(root, on_error="mask", max_bad=0.5) as loader:
                seen = [int(index) for batch in loader for index in batch.indices[batch.mask]]
        self.assertEqual((len(seen), len(set(seen))), (23, 23))
        data = stoker.Pack(root)
        at = data.samples.index((os.path.join(root, sample["path"]), sample["label"]))
        with self.assertRaisesRegex(OSError, "the shard is damaged"):
            data[at]

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
