"""What the hook counts as padding, and what only looks like it."""

import importlib.util
import unittest
from pathlib import Path

try:
    import numpy  # noqa: F401
    import torch
    import torch.utils._python_dispatch
except ImportError:
    torch = None

_spec = importlib.util.spec_from_file_location("padding", Path(__file__).parents[1] / "hook/padding.py")
padding = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(padding)


def fill(lengths, width, value=0, left=False, dtype=None):
    rows = torch.full((len(lengths), width), value, dtype=dtype or torch.int64)
    for row, length in zip(rows, lengths):
        tokens = torch.arange(5, 5 + length)
        row[width - length if left else 0 :][:length] = tokens
    return rows


@unittest.skipUnless(torch, "PyTorch is not installed")
class TestPadding(unittest.TestCase):
    def count(self, tensor):
        return padding.count_padding(torch, tensor)

    def test_counts_padding_and_what_lies_beyond_the_longest_sample(self):
        for left in (False, True):
            for dtype in (torch.int64, torch.int32, torch.float32):
                self.assertEqual([120, 40, 30], self.count(fill([30, 20, 30], 40, left=left, dtype=dtype)))
        self.assertEqual([90, 10, 0], self.count(fill([30, 20, 30], 30, value=1)))

    def test_counts_the_first_samples_of_a_large_batch(self):
        self.assertEqual([4 * 8192, 4 * 192, 4 * 192], self.count(fill([8000] * 20, 8192)))

    def test_runs_no_operation(self):
        seen = []

        class Mode(torch.utils._python_dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                seen.append(func)
                return func(*args, **(kwargs or {}))

        batch = fill([30, 20], 40)
        with torch.autograd.profiler.profile() as profile, Mode():
            self.assertEqual([80, 30, 20], self.count(batch))
        self.assertEqual(([], []), (seen, [event.name for event in profile.function_events]))

    def test_counts_nothing_that_only_looks_like_padding(self):
        for name, tensor in {
            "full rows": fill([40, 40], 40),
            "one-hot labels": torch.eye(20, dtype=torch.int64),
            "an attention mask": fill([30, 20], 40).clamp(max=1),
            "labels that leave a prompt out": fill([30, 20], 40, value=-100),
            "counts": torch.tensor([[0, 3, 0, 1, 0, 0, 2, 0] * 3 + [0] * 8] * 2),
            "images in rows": torch.nn.functional.pad(torch.rand(4, 600).relu().mul(torch.rand(4, 600) > 0.6), (90, 90)),
            "empty rows": fill([0, 20], 40),
            "samples longer than what is read": fill([9000, 8000], 20_000),
            "a column": fill([3, 2], 8),
            "three dimensions": torch.zeros(4, 40, 3),
            "floats filled with ones": fill([30, 20], 40, value=1, dtype=torch.float32),
            "columns": fill([30, 20] * 10, 40).T,
            "other devices": torch.empty(4, 40, device="meta"),
            "a view with the other sign": torch._neg_view(fill([30, 20], 40)),
            "a sparse tensor": fill([30, 20], 40).to_sparse(),
        }.items():
            with self.subTest(name):
                self.assertIsNone(self.count(tensor))
