"""The start-up hook under stoker.DataLoader: the same batches, and the records that torch's loader would give.

The daemon is the one in Python (feed_fake.py), so that no binary is needed.
"""

import glob
import os
import shlex
import sys
import unittest

from test_hook import CLIENT, HOOK, HookCase

VISION = glob.glob(os.path.join(os.path.dirname(os.path.dirname(sys.executable)), "lib", "python*", "site-packages", "torchvision", "version.py"))

TESTS = os.path.dirname(os.path.abspath(__file__))
DAEMON = """
import feed_fake
send = feed_fake.send
def timed(end, packet, *descriptors):
    if packet["type"] == "batch": packet["t"] = {"read": 0.25, "decode": 0.5, "transform": 0.125, "fill": 1.0}
    send(end, packet, *descriptors)
feed_fake.send = timed
feed_fake.main()
"""

TRAIN = """
import sys, warnings
import torch
from torchvision.datasets import ImageFolder
from torchvision import transforms
from stoker import DataLoader

def make(**more):
    transform = transforms.Compose([transforms.CenterCrop((4, 6)), transforms.ToTensor()])
    return DataLoader(ImageFolder(sys.argv[1], transform), 8, shuffle=True, seed=5, **more)

def seen(loader, epochs):
    return [[labels.tolist() + [images.sum().item()] for images, labels in loader] for _ in range(epochs)]
"""

WAYS = (
    TRAIN
    + """
torch.set_num_threads(1)
print(seen(make(num_workers=3, drop_last=True), 2))
print(seen(make(device="cpu", normalize_on_device=True), 1))
for images, labels in make(): break
warnings.simplefilter("ignore")
class Mine(ImageFolder): pass
loader = DataLoader(Mine(sys.argv[1], transforms.ToTensor(), loader=lambda path: __import__("PIL.Image").Image.new("RGB", (4, 4))), 8)
import contextlib, io
with contextlib.redirect_stderr(io.StringIO()):  # that the pictures of this file's daemon are not Pillow's
    print(loader.translated, seen(loader, 1))
try:
    make(num_workers=1).skip(-1)
except ValueError as error:
    print(error)
"""
)


@unittest.skipUnless(VISION, "torchvision is not installed in this Python")
class Feed(HookCase):
    paths = (CLIENT,)

    def setUp(self):
        super().setUp()
        self.images = os.path.join(self.folder, "images")
        for number in range(42):
            folder = os.path.join(self.images, ("cat", "dog")[number // 21])
            os.makedirs(folder, exist_ok=True)
            open(os.path.join(folder, "%04d.jpg" % number), "wb").close()
        self.binary = os.path.join(self.folder, "stoker")
        with open(self.binary, "w") as file:
            file.write('#!/bin/sh\nPYTHONPATH=%s exec %s -c %s "$@"\n' % tuple(map(shlex.quote, (TESTS, sys.executable, DAEMON))))
        os.chmod(self.binary, 0o700)

    def run_feed(self, source, hook=True, args=()):
        return self.silent(self.run_program(source, hook, args=(self.images, *args), STOKER_BIN=self.binary))

    def test_same_batches_and_what_is_seen_of_them(self):
        plain = self.run_feed(WAYS, hook=False)
        hooked = self.run_feed(WAYS)
        self.assertEqual(plain.out, hooked.out)
        self.assertEqual(hooked.of("warn"), [])
        first, second, third, torchs = hooked.of("loader")
        self.assertEqual((first["kind"], first["num_workers"], first["batch_size"], first["drop_last"]), ("stoker", 3, 8, True))
        self.assertEqual((first["dataset"], first["length"], first["shuffle"]), ("ImageFolder", 42, True))
        self.assertTrue(first["file"].endswith("program.py"), first)
        self.assertEqual((second["num_workers"], second["normalize_on_device"]), (None, True))
        self.assertEqual((torchs["dataset"], torchs.get("kind"), torchs["own"]), ("Mine", None, ["image loader", "fallen back"]))
        steps = [s for s in hooked.of("step") if s["loader"] == first["loader"]]
        self.assertEqual([s["n"] for s in steps], list(range(10)))  # 5 of 8 an epoch; the short one is dropped
        self.assertEqual([s["n"] for s in steps if s.get("first")], [0, 5])
        self.assertEqual({s["b"] for s in steps}, {8})
        self.assertTrue(all(s["w"] > 0 and s["grad"] for s in steps))
        self.assertEqual(sum(s["loader"] == third["loader"] for s in hooked.of("step")), 1)  # left by a break
        batch = hooked.of("batch")[0]
        self.assertEqual((batch["dtype"], batch["samples"], batch["bytes"]), ("float32", 8, 8 * 3 * 4 * 6 * 4 + 8 * 8))
        fed = hooked.of("feed")[-1]
        self.assertGreaterEqual(fed["count"], 10 + 6 + 1)  # those of the torch loader are not among them
        self.assertLessEqual(fed["count"], 10 + 6 + 1 + 1)
        self.assertEqual([fed[stage] / fed["count"] for stage in ("read", "decode", "transform")], [0.25e9, 0.5e9, 0.125e9])

    def test_what_a_sample_goes_through(self):
        """By name, so that another loader is advised only where it does the same."""
        source = """
import sys
import torch
from torch.utils.data import DataLoader, Subset, WeightedRandomSampler
from torchvision.datasets import FakeData, ImageFolder
from torchvision import transforms as T
from torchvision.transforms import v2
class Traced:
    def __getattr__(self, name):
        if name == "__getitems__": raise AttributeError(name)  # torch asks
        raise SystemExit("the hook asked a data set of ours for " + name)
class Ours(Traced):
    def __getitem__(self, i): return torch.zeros(2)
    def __len__(self): return 4
def mine(image): return image
def collate(samples): return torch.zeros(1)
inner = T.Compose([T.RandomHorizontalFlip(), torch.nn.Sequential(T.Resize((8, 8))), T.ToTensor(), mine, lambda image: image])
class Named(ImageFolder):
    def find_classes(self, folder): return super().find_classes(folder)
class Other(ImageFolder):
    def __getitem__(self, i): return torch.zeros(2)
from PIL import Image
folder = Named(sys.argv[1], T.Compose([v2.CenterCrop(9), inner]), loader=lambda path: Image.new("RGB", (9, 9)))
for loader in (
    DataLoader(Ours()),
    DataLoader(Subset(Subset(folder, range(9)), range(4)), sampler=WeightedRandomSampler([1.0] * 4, 4)),
    DataLoader(Other(sys.argv[1]), collate_fn=collate, worker_init_fn=print),
    DataLoader(FakeData(4, transform=T.ToTensor()), batch_sampler=[[0, 1], [2, 3]]),
    DataLoader(Ours(), batch_size=None),
):
    for batch in loader: pass
print("fine")
"""
        hooked = self.run_feed(source)
        self.assertEqual((hooked.out, hooked.of("warn")), ("fine\n", []))
        found = [(loader["reader"], loader["transforms"], loader["own"]) for loader in hooked.of("loader")]
        folder, own = "torchvision.datasets.folder.DatasetFolder", "torchvision.transforms.transforms."
        names = [own.replace("transforms.transforms", "transforms.v2._geometry") + "CenterCrop", own + "RandomHorizontalFlip", own + "Resize", own + "ToTensor"]
        self.assertEqual(found[0], ("__main__.Ours", [], []))
        self.assertEqual(found[1], (folder, [*names, "__main__.mine", "__main__.<lambda>"], ["sampler", "image loader"]))
        self.assertEqual(found[2], ("__main__.Other", [], ["collate_fn", "worker_init_fn"]))
        self.assertEqual(found[3], ("torchvision.datasets.fakedata.FakeData", [own + "ToTensor"], ["batch_sampler"]))
        self.assertEqual(found[4], ("__main__.Ours", [], ["collate_fn", "batch_sampler"]))

    def test_every_function_may_raise(self):
        source = (
            TRAIN
            + """
import importlib.util
torch.set_num_threads(1)
sys.modules["_stoker_hook"].part("guard").step_aside()
sys.modules.pop("_stoker_hook")
expected = seen(make(), 1)
for target in sys.argv[3].split(","):
    spec = importlib.util.spec_from_file_location("_again", sys.argv[2])
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    def broken(*args): raise ArithmeticError(target)
    part, _, name = target.partition(".")
    part = module.part(part)
    if getattr(part, name).__name__ == "guarded":
        getattr(part, name).__closure__[0].cell_contents = broken
    else:
        setattr(part, name, broken)
    module.begin()
    assert seen(make(), 1) == expected, target
    assert module.now.off, target
    assert DataLoader.__iter__.__code__.co_filename.endswith("dataloader.py"), target
    module.part("guard").step_aside()
print("fine")
"""
        )
        targets = ["boundary." + name for name in ("ask", "got", "begun", "begin_iter")] + ["fetch.note_fed"]
        targets += ["describe." + name for name in ("_stoker_settings", "samples_of", "tell_batch")]
        result = self.run_feed(source, args=(HOOK, ",".join(targets)))
        self.assertEqual(result.out, "fine\n")

    def test_a_client_that_it_does_not_know(self):
        source = "import stoker.loader.position as p; p.Feeder._took = p.Feeder._note; del p.Feeder._note\n" + (
            "p.Feeder.__getattr__ = lambda self, name: self._took if name == '_note' else object.__getattribute__(self, name)\n" + TRAIN + "print(len(seen(make(), 1)))"
        )
        result = self.run_feed(source)
        self.assertEqual((result.out, result.of("warn"), result.of("feed")), ("1\n", [], []))
        self.assertEqual(len(result.of("step")), 6)


if __name__ == "__main__":
    unittest.main()
