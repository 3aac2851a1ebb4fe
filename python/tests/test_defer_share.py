"""What share of the pixels' work the daemon did, in words and as it is counted."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

import leash

from stoker.deferred.recipes import share

BINARY = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "bin", "stoker")


class SentenceTest(unittest.TestCase):
    def test_words(self):
        for pictures, pixels, reasons, want in (
            ((0, 0, 0), (0, 0, 0), "", ""),
            ((12800, 0, 0), (9e9, 0, 0), "", "100 % of the pixels' work was done by Go: 12,800 of 12,800 pictures whole"),
            ((999, 0, 1), (9999, 0, 1), ("", "", "such as CMYK JPEG at t.py:4"), "99 % of the pixels' work was done by Go: 999 of 1,000 pictures whole, 1 by Pillow (such as CMYK JPEG at t.py:4)"),
            ((0, 8, 0), (0, 8, 0), ("", "t.py:4 asks", ""), "0 to 100 % of the pixels' work was done by Go: 0 of 8 pictures whole, 8 in part (t.py:4 asks)"),
            ((1, 2, 1), (1, 2, 1), "", "25 to 75 % of the pixels' work was done by Go: 1 of 4 pictures whole, 2 in part, 1 by Pillow"),
        ):
            with self.subTest(pictures):
                self.assertEqual(share.describe([*pictures, *map(int, pixels)], list(reasons) or [""] * 3), want)


class CountTest(unittest.TestCase):
    def setUp(self):
        self.page = self.enterContext(tempfile.TemporaryFile())
        self.enterContext(mock.patch.multiple(share, _page=None, _file=-1, _found=[0] * 6, _reasons=[b""] * 3))
        share.use_page(self.page.fileno())

    def test_worst_counts(self):
        """A picture counts once, by the worst that became of it."""
        one, other = types.SimpleNamespace(counted_as=-1, size=(2, 3)), types.SimpleNamespace(counted_as=-1, size=(1, 1))
        image = types.SimpleNamespace(size=(5, 2), mode="CMYK", format="JPEG")
        with share.counting():
            for source, kind in ((one, share.WHOLE), (other, share.WHOLE), (one, share.PART), (one, share.WHOLE)):
                share.count_file(source, kind)
            self.assertEqual(share.read_counts()[0], [0] * 6)
            share.count_load(image, lambda: "a\nb")
        share.count_load(image, lambda: "a\nb")
        self.assertEqual(share.read_counts(), ([1, 1, 1, 1, 6, 10], ["", "", "such as CMYK JPEG at a?b"]))

    def test_workers(self):
        """Forked workers add to one page, each but what it found itself."""
        with mock.patch.object(share, "_flush"), share.counting():
            share.count_load(types.SimpleNamespace(size=(1, 1)), None)
        for _ in range(3):
            if not (child := os.fork()):
                try:
                    with share.counting():
                        share.count_file(types.SimpleNamespace(counted_as=-1, size=(2, 2)), share.WHOLE)
                finally:
                    os._exit(0)
            os.waitpid(child, 0)
        with share.counting():
            pass
        self.assertEqual(share.read_counts()[0], [3, 0, 1, 12, 0, 1])


WORKER = """
import json, sys
import torch
from PIL import Image
from torchvision.transforms import functional as F

class Pictures(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        picture = F.pil_to_tensor(Image.open(sys.argv[1]).convert("RGB"))
        return picture, index
def collate(samples):
    return torch.stack([picture for picture, _ in samples]), list(sys.modules)

batches = list(torch.utils.data.DataLoader(Pictures(), 2, num_workers=1, collate_fn=collate))
print(json.dumps(sorted(set(batches[1][1]) - set(sys.modules))))
"""


@unittest.skipUnless(importlib.util.find_spec("torchvision") and os.access(BINARY, os.X_OK), "needs torchvision and bin/stoker (make build)")
class ImportsTest(unittest.TestCase):
    def test_workers_import_no_more(self):
        """A fed worker imports nothing that its trainer has not imported and a worker without us does not import."""
        from PIL import Image

        leash.hold(self)
        with tempfile.NamedTemporaryFile(suffix=".jpg") as file:
            Image.new("RGB", (40, 30)).save(file.name)
            script = [sys.executable, "-W", "ignore", "-c", WORKER, file.name]
            plain, fed = (subprocess.run([*before, *script], capture_output=True, text=True, env={**os.environ, "STOKER_FEED_ALWAYS": "1"}) for before in ([], [BINARY, "feed", "--"]))
        self.assertIn("100 % of the pixels' work was done by Go: 4 of 4 pictures whole", fed.stderr)
        self.assertLessEqual(set(json.loads(fed.stdout)), set(json.loads(plain.stdout)), fed.stderr)


if __name__ == "__main__":
    unittest.main()
