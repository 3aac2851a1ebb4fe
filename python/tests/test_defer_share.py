"""What share of the pixels' work the daemon did, in words and as it is counted."""

import os
import tempfile
import types
import unittest
from unittest import mock

from stoker import _share


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
                self.assertEqual(_share.sentence([*pictures, *map(int, pixels)], list(reasons) or [""] * 3), want)


class CountTest(unittest.TestCase):
    def setUp(self):
        self.page = self.enterContext(tempfile.TemporaryFile())
        self.enterContext(mock.patch.multiple(_share, _page=None, _file=-1, _found=[0] * 6, _reasons=[b""] * 3))
        _share.share(self.page.fileno())

    def test_worst_counts(self):
        """A picture counts once, by the worst that became of it; what is only compared does not count."""
        one, other = types.SimpleNamespace(went=-1, size=(2, 3)), types.SimpleNamespace(went=-1, size=(1, 1))
        image = types.SimpleNamespace(size=(5, 2), mode="CMYK", format="JPEG")
        with _share.counting():
            for source, kind in ((one, _share.WHOLE), (other, _share.WHOLE), (one, _share.PART), (one, _share.WHOLE)):
                _share.went(source, kind)
            with _share.uncounted():
                _share.loaded(image, lambda: "a\nb")
            self.assertEqual(_share.counted()[0], [0] * 6)
            _share.loaded(image, lambda: "a\nb")
        _share.loaded(image, lambda: "a\nb")
        self.assertEqual(_share.counted(), ([1, 1, 1, 1, 6, 10], ["", "", "such as CMYK JPEG at a?b"]))

    def test_workers(self):
        """Forked workers add to one page, each but what it found itself."""
        with mock.patch.object(_share, "_flush"), _share.counting():
            _share.loaded(types.SimpleNamespace(size=(1, 1)), None)
        for _ in range(3):
            if not (child := os.fork()):
                try:
                    _share.forked()
                    with _share.counting():
                        _share.went(types.SimpleNamespace(went=-1, size=(2, 2)), _share.WHOLE)
                finally:
                    os._exit(0)
            os.waitpid(child, 0)
        with _share.counting():
            pass
        self.assertEqual(_share.counted()[0], [3, 0, 1, 12, 0, 1])


if __name__ == "__main__":
    unittest.main()
