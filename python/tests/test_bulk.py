"""examples/bulk/traces.py tells of each trace what stoker.trace says, and of what is none why."""

import importlib.util
import json
import pathlib
import shutil
import tempfile
import unittest

import stoker

ROOT = pathlib.Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("bulk_traces", ROOT / "examples/bulk/traces.py")
traces = importlib.util.module_from_spec(spec)
spec.loader.exec_module(traces)


class TestTraces(unittest.TestCase):
    def test_rows_of_traces_and_of_none(self):
        with tempfile.TemporaryDirectory() as folder:
            good, bad = pathlib.Path(folder, "a.json.gz"), pathlib.Path(folder, "b.json")
            shutil.copy(ROOT / "testdata/cases/trace-loader/trace.json.gz", good)
            bad.write_text("none")
            first, second = map(json.loads, traces.rows([str(good), str(bad)], 2, False))
        told = stoker.trace(ROOT / "testdata/cases/trace-loader/trace.json.gz")
        self.assertEqual((first["class"], first["stall"], first["step_s"]), (told["verdict"]["class"], told["verdict"]["stall"], told["step"]["mean_s"]))
        self.assertEqual((first["au"], first["kernel"]), (1 - told["shares"]["idle"], told["kernels"][0]["name"]))
        self.assertIsNone(first["error"])
        self.assertEqual((second["class"], second.keys()), (None, first.keys()))
        self.assertIn("b.json", second["error"])


if __name__ == "__main__":
    unittest.main()
