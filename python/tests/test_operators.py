"""The table of operators against PyTorch's own key_averages() of the same run."""

import json
import os
import tempfile
import unittest

import stoker

try:
    import torch
except ImportError:
    torch = None


def built():
    try:
        return os.access(stoker.find_binary(), os.X_OK)
    except stoker.StokerError:
        return False


def record(path):
    """Trace a few steps of a small model; returns the profiler."""
    torch.manual_seed(0)
    layers = [torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 14 * 14, 10)]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.Adam(model.parameters())
    loader = torch.utils.data.DataLoader(torch.randn(32, 3, 16, 16), batch_size=4)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profiler:
        for batch in loader:
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()
            profiler.step()
    profiler.export_chrome_trace(path)
    return profiler


def table(path, shapes=False):
    return stoker.trace(path, top=0, by="cpu", shapes=shapes)["operators"]


@unittest.skipUnless(torch and built(), "no torch, or no binary: make build")
class Operators(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = os.path.join(cls.folder.name, "cpu.pt.trace.json")
        cls.profiler = record(cls.path)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_rows_match_key_averages(self):
        theirs = {e.key: e for e in self.profiler.key_averages()}
        ours = {r["name"]: r for r in table(self.path)}
        self.assertGreater(len(theirs), 40)
        self.assertEqual(set(theirs), set(ours))
        for name, e in theirs.items():
            r = ours[name]
            self.assertEqual(r["calls"], e.count, name)
            self.assertAlmostEqual(1e6 * r["cpu_self_s"], e.self_cpu_time_total, delta=0.01, msg=name)
            self.assertAlmostEqual(1e6 * r["cpu_total_s"], e.cpu_time_total, delta=0.01, msg=name)

    def test_a_timeline_is_written(self):
        timeline = os.path.join(self.folder.name, "out.json")
        answer = stoker.trace(self.path, timeline=timeline)
        self.assertEqual(answer["trace"]["files"], [self.path])
        self.assertIsNone(answer["ranks"])
        with open(timeline, encoding="utf-8") as file:
            names = {e["name"] for e in json.load(file)["traceEvents"]}
        self.assertIn("aten::convolution", names)
        with self.assertRaisesRegex(stoker.StokerError, "no such file"):
            stoker.trace(os.path.join(self.folder.name, "none.json"))

    def test_rows_by_shape_match_key_averages(self):
        theirs, ours = {}, {}
        for e in self.profiler.key_averages(group_by_input_shape=True):
            theirs.setdefault(e.key, []).append((e.count, round(e.cpu_time_total, 2)))
        for r in table(self.path, shapes=True):
            ours.setdefault(r["name"], []).append((r["calls"], round(1e6 * r["cpu_total_s"], 2)))
        for name in ("aten::addmm", "aten::convolution", "aten::mm", "aten::copy_"):
            self.assertEqual(len(ours[name]), len(theirs[name]), name)
            for (calls, total), (count, time) in zip(sorted(ours[name]), sorted(theirs[name]), strict=True):
                self.assertEqual(calls, count, name)
                self.assertAlmostEqual(total, time, delta=0.02, msg=name)


if __name__ == "__main__":
    unittest.main()
