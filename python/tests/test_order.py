"""Order, randomness: the reference in Python against known answers, against Go, against torchvision.

STOKER_EPOCHS=100000 compares so many simulated epochs with Go's (needs go; 2 minutes).
"""

import contextlib
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from stoker.loader import order

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import make_order_cases  # noqa: E402  (lies beside this file)

ROOT = pathlib.Path(__file__).parents[2]
REFERENCE = ROOT / "feed/order/testdata/reference.json"

torchvision = None
with contextlib.suppress(ImportError):
    import torch
    import torchvision


class Reference(unittest.TestCase):
    def test_known_answers_of_random123(self):
        ones = 2**32 - 1
        pi = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0)
        for counter, key, want in [
            ((0,) * 4, (0,) * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
            ((ones,) * 4, (ones,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
            (*pi, (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
        ]:
            self.assertEqual(order.philox(counter, key), want)

    def test_the_committed_cases_are_what_the_reference_gives(self):
        self.assertEqual(make_order_cases.reference(), REFERENCE.read_text(), "make_order_cases.py says how to write it")

    def test_a_permutation_is_one(self):
        for samples in [1, 2, 3, 100, 2**16 + 1]:
            at = order.permutation(1, 2, samples)
            self.assertEqual(sorted(map(at, range(samples))), list(range(samples)))

    def test_simulated_epochs_are_exactly_once(self):
        for number in range(500):
            case = make_order_cases.epoch_case(number)
            most = {"drop": 64 * 9, "even-drop": 64 * 9, "trim": 64}.get(case["tail"], 1)  # samples left out, less than a step or a rank has
            self.assertLess(case["samples"] - case["end"], most)
            at = order.permutation(case["seed"], case["epoch"], case["samples"]) if case["shuffle"] else int
            self.assertEqual(case["digest"], order.digest(map(at, range(case["start"], case["end"]))))
            self.assertEqual(case["left"], 0)


@unittest.skipUnless(os.environ.get("STOKER_EPOCHS") and shutil.which("go"), "STOKER_EPOCHS is not set, or no go")
class Epochs(unittest.TestCase):
    def test_go_walks_the_same_epochs(self):
        count = int(os.environ["STOKER_EPOCHS"])
        with tempfile.TemporaryDirectory() as folder:
            cases = pathlib.Path(folder, "cases")
            with cases.open("w") as file:
                for number in range(count):
                    print(json.dumps(make_order_cases.epoch_case(number)), file=file)
            done = subprocess.run(
                ["go", "test", "./feed/order", "-count=1", "-v", "-run", "TestMoreEpochsLikeReference"],
                cwd=ROOT, env=os.environ | {"STOKER_EPOCHS_CASES": str(cases)}, capture_output=True, text=True, check=False,
            )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"{count} epochs compared", done.stdout)


def largest_gap(ours, theirs):
    """Two-sample Kolmogorov-Smirnov statistic, times the root that makes it comparable.

    Above 1.95 has a probability of 0.001 where both are drawn from one distribution
    (less where values are tied).
    """
    ours, theirs = sorted(ours), sorted(theirs)
    gap, i, j = 0.0, 0, 0
    while i < len(ours) and j < len(theirs):
        value = min(ours[i], theirs[j])
        while i < len(ours) and ours[i] == value:
            i += 1
        while j < len(theirs) and theirs[j] == value:
            j += 1
        gap = max(gap, abs(i / len(ours) - j / len(theirs)))
    return gap * math.sqrt(len(ours) * len(theirs) / (len(ours) + len(theirs)))


@unittest.skipUnless(torchvision, "no torchvision")
class Samplers(unittest.TestCase):
    """Distributions against a sample by torchvision, at the level 0.001, with fixed seeds."""

    COUNT = 8000

    def setUp(self):
        self.torch_state = torch.get_rng_state()
        torch.manual_seed(5)
        self.addCleanup(torch.set_rng_state, self.torch_state)

    def compare(self, ours, theirs):
        for what, a, b in zip(["left", "top", "width", "height"], zip(*ours), zip(*theirs)):
            self.assertLess(largest_gap(a, b), 1.95, what)
        derived = {
            "area": lambda b: b[2] * b[3],
            "ratio": lambda b: b[2] / b[3],
            "right": lambda b: b[0] + b[2],
            "bottom": lambda b: b[1] + b[3],
        }
        for what, f in derived.items():
            self.assertLess(largest_gap(map(f, ours), map(f, theirs)), 1.95, what)

    def test_resized_crop(self):
        get = torchvision.transforms.RandomResizedCrop.get_params
        for width, height, scale, ratio in [
            (500, 375, (0.08, 1.0), (3 / 4, 4 / 3)),
            (64, 900, (0.08, 1.0), (3 / 4, 4 / 3)),  # seldom fits at once: retries and the central crop
            (1000, 30, (0.5, 1.0), (3 / 4, 4 / 3)),  # never fits
            (33, 21, (0.2, 0.4), (0.5, 2.0)),  # so small that rounding shows
        ]:
            image = torch.empty(3, height, width, device="meta")
            theirs = [(j, i, w, h) for i, j, h, w in (get(image, scale, ratio) for _ in range(self.COUNT))]
            ours = [order.resized_crop(order.Draws(1, 0, n, 0), width, height, scale, ratio) for n in range(self.COUNT)]
            with self.subTest(width=width, height=height, scale=scale, ratio=ratio):
                self.compare(ours, theirs)

    def test_crop(self):
        get = torchvision.transforms.RandomCrop.get_params
        for width, height, w, h in [(40, 36, 32, 32), (32, 33, 32, 32), (500, 375, 224, 224)]:
            image = torch.empty(3, height, width, device="meta")
            theirs = [(j, i, ww, hh) for i, j, hh, ww in (get(image, (h, w)) for _ in range(self.COUNT))]
            ours = [order.crop(order.Draws(1, 0, n, 0), width, height, w, h) for n in range(self.COUNT)]
            self.compare(ours, theirs)

    def test_the_comparison_can_fail(self):
        get = torchvision.transforms.RandomResizedCrop.get_params
        image = torch.empty(3, 375, 500, device="meta")
        theirs = [get(image, (0.08, 1.0), (3 / 4, 4 / 3)) for _ in range(self.COUNT)]
        ours = [get(image, (0.1, 1.0), (3 / 4, 4 / 3)) for _ in range(self.COUNT)]
        self.assertRaises(AssertionError, self.compare, ours, theirs)


if __name__ == "__main__":
    unittest.main()
