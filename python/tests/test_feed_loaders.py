"""Every loader over PyTorch's is fed, also several that begin at once: batches and states as without us, all counted."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import alone
import leash

BINARY = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "bin", "stoker")

BEGIN = """
import gc, hashlib, io, json, pickle, sys, threading
import torch
from PIL import Image
from torchvision.transforms import functional as F
torch.set_num_threads(1)

class Pictures(torch.utils.data.Dataset):
    def __len__(self):
        return 20
    def __getitem__(self, index):
        with Image.open(sys.argv[1]) as image:
            side = 20 + int(torch.randint(20, ()))
            return F.to_tensor(image.convert("RGB").crop((index, 0, index + side, side)).resize((16, 16))), index

class Counting(Pictures):  # has a state of its own
    asked = 0
    def __getitem__(self, index):
        self.asked += 1
        return super().__getitem__(index)
    def state_dict(self):
        return {"asked": self.asked}
    def load_state_dict(self, state):
        self.asked = state["asked"]

def digest(batch):
    return [hashlib.sha256(part.numpy().tobytes()).hexdigest()[:12] for part in batch]

def resumed(make):
    "Batches of an epoch, of half of one, and of what a loader that is made anew goes on with from there; the states."
    loader, seen = make(), []
    seen += [digest(batch) for batch in loader]
    for number, batch in enumerate(loader):
        seen.append(digest(batch))
        if number == 1:
            state = loader.state_dict()
            break
    again = make()
    again.load_state_dict(pickle.loads(pickle.dumps(state)))
    seen += [digest(batch) for batch in again]
    return seen, repr(state), repr(again.state_dict())
"""

STATEFUL = (
    BEGIN
    + """
from torchdata.stateful_dataloader import StatefulDataLoader
def make():
    torch.manual_seed(3)
    kind = {"plain": Pictures, "counting": Counting}[sys.argv[3]]
    return StatefulDataLoader(kind(), 4, shuffle=True, num_workers=int(sys.argv[2]))
print(json.dumps(resumed(make)))
"""
)

NODES = (
    BEGIN
    + """
import torchdata.nodes as nodes
class Batch:
    def __call__(self, indices):
        with Image.open(sys.argv[1]) as image:  # no random numbers: threads share them
            whole = image.convert("RGB")
            return torch.stack([F.to_tensor(whole.crop((index, 0, index + 30, 30)).resize((16, 16))) for index in indices]),
def make():
    node = nodes.Batcher(nodes.SamplerWrapper(torch.utils.data.SequentialSampler(Pictures())), 4, drop_last=False)
    return nodes.Loader(nodes.ParallelMapper(node, Batch(), num_workers=int(sys.argv[2]), method=sys.argv[3]))
print(json.dumps(resumed(make)))
gc.collect()  # torchdata's threads end with its loader: PyTorch aborts where Python ends while they are in it
for thread in threading.enumerate():
    if "(_" in thread.name: thread.join(60)
"""
)

THREADS = (
    BEGIN
    + """
def load(seen, barrier):
    loader = torch.utils.data.DataLoader(Pictures(), 4, num_workers=int(sys.argv[2]))
    barrier.wait()
    seen += [labels.tolist() for _, labels in loader]
seen, barrier = [[] for _ in range(3)], threading.Barrier(3)
threads = [threading.Thread(target=load, args=(each, barrier)) for each in seen]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps(seen))
"""
)

SILENT = """
import torch
print(sum(int(batch.sum()) for _ in range(2) for batch in torch.utils.data.DataLoader(range(4), 2, num_workers=2)))
"""


@unittest.skipUnless(importlib.util.find_spec("torchvision") and os.access(BINARY, os.X_OK), "needs torchvision and bin/stoker (make build)")
class LoadersTest(unittest.TestCase):
    def setUp(self):
        leash.hold(self)
        self.enterContext(mock.patch.dict(os.environ, STOKER_FEED_ALWAYS="1"))  # as small as the pictures are
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.picture = os.path.join(folder.name, "a.jpg")
        from PIL import Image

        Image.effect_noise((90, 70), 80).convert("RGB").save(self.picture)

    def run_both(self, source, *args):
        """What a script prints alone and fed, which is the same; what is said of it."""
        script = [os.path.join(os.path.dirname(self.picture), "script.py"), self.picture, *map(str, args)]
        with open(script[0], "w") as file:
            file.write(source)
        plain = alone.run(*script)
        fed = subprocess.run([BINARY, "feed", "--", sys.executable, "-W", "ignore", *script], capture_output=True, text=True)
        self.assertEqual(plain.returncode, 0, plain.stderr)
        self.assertEqual((fed.returncode, fed.stdout), (0, plain.stdout), fed.stderr)
        return json.loads(fed.stdout), fed.stderr

    def assertWhole(self, said, least):
        found = re.fullmatch(r"stoker: feed: 100 % of the pixels' work was done by Go: (\d+) of \1 pictures whole\n", said)
        self.assertTrue(found and int(found[1]) >= least, said)

    @unittest.skipUnless(importlib.util.find_spec("torchdata"), "needs torchdata")
    def test_stateful(self):
        for workers, kind in ((0, "counting"), (2, "plain"), (2, "counting")):
            with self.subTest(kind, workers=workers):
                (batches, *_), said = self.run_both(STATEFUL, workers, kind)
                self.assertEqual(len(batches), 5 + 2 + 3)
                self.assertWhole(said, 40)

    @unittest.skipUnless(importlib.util.find_spec("torchdata"), "needs torchdata")
    def test_nodes(self):
        for workers, method in ((0, "thread"), (1, "thread"), (2, "process")):
            with self.subTest(method, workers=workers):
                (batches, *_), said = self.run_both(NODES, workers, method)
                self.assertEqual(len(batches), 5 + 2 + 3)
                self.assertWhole(said, 10)

    def test_threads(self):
        """Loaders that begin in several threads at once."""
        for workers in (0, 1):
            with self.subTest(workers=workers):
                self.assertWhole(self.run_both(THREADS, workers)[1], 60)

    def test_silence(self):
        """Where nothing can be fed that is said, however short the epochs are."""
        self.assertRegex(self.run_both(SILENT)[1], r"^stoker: feed: no picture of the first batches can wait: [^\n]*\n$")


if __name__ == "__main__":
    unittest.main()
