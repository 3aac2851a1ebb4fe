"""How bench/gains/gains.py counts: what is outside, what has failed, what the plain law says."""

import gzip
import json
import math
import sys
import tempfile
import unittest
from pathlib import Path

import leash  # noqa: F401  (temporary files lie in a folder of the tests)

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "gains"))
import gains

#: Outcomes of `stoker verify --json`, as far as they are read.
OUTCOMES = json.loads("""{
  "kept":    {"refused": "", "difference": "faster", "changes": [{"setting": "num_workers", "from": 0, "to": 1}],
              "speedup": {"low": 1.9, "point": 2.0, "high": 2.1}, "promise": {"promised": {"low": 1.8, "point": 1.9, "high": 2.2}}},
  "outside": {"refused": "", "difference": "faster", "changes": [{"setting": "num_workers", "from": 0, "to": 1}],
              "speedup": {"low": 1.5, "point": 1.7, "high": 1.9}, "promise": {"promised": {"low": 1.8, "point": 1.9, "high": 2.2}}},
  "unseen":  {"refused": "", "difference": "no detectable difference", "changes": [],
              "speedup": {"low": 0.9, "point": 1.0, "high": 1.1}, "promise": {"promised": null}},
  "strange": {"refused": "", "difference": "faster",
              "changes": [{"setting": "num_workers", "from": 0, "to": 1}, {"setting": "cores", "from": 2, "to": 1}],
              "speedup": {"low": 1.9, "point": 2.0, "high": 2.1}, "promise": {"promised": {"low": 1.8, "point": 2.0, "high": 2.2}}},
  "refused": {"refused": "the run before is too short", "difference": "not compared", "changes": [], "speedup": null, "promise": {"promised": null}}
}""")


def row(name, changes=("num_workers",)):
    case = gains.Case(name, "", "", changes)
    made = gains.Row(name, same=case.same)
    gains.compare(made, case, OUTCOMES[name])
    return made


class PairsTest(unittest.TestCase):
    def test_a_pair_inside(self):
        kept = row("kept")
        self.assertTrue(kept.inside)
        self.assertAlmostEqual(kept.error, 0.05)
        self.assertAlmostEqual(kept.width, 0.4 / 1.9)
        self.assertEqual(kept.remarks(), [])

    def test_the_achieved_point_decides_not_its_interval(self):
        self.assertFalse(row("outside").inside)  # though the intervals meet

    def test_a_change_that_is_not_found_counts_as_outside(self):
        unseen = row("unseen")
        self.assertFalse(unseen.inside)
        self.assertEqual(unseen.error, math.inf)
        self.assertEqual(unseen.remarks(), ["not seen: num_workers", "nothing promised"])

    def test_a_change_that_nobody_made_is_named(self):
        self.assertEqual(row("strange").remarks(), ["found though not changed: cores"])

    def test_a_refused_pair_has_failed(self):
        refused = row("refused")
        self.assertFalse(refused.inside)
        self.assertIn("too short", refused.problem)

    def test_every_pair_counts(self):
        rows = [row("kept"), row("outside"), row("refused"), row("unseen", changes=())]
        told = gains.summary(rows)
        self.assertEqual((told.pairs, told.inside), (3, 1))  # A/A stands apart
        self.assertAlmostEqual(told.error, 1.9 / 1.7 - 1)  # the one in the middle of 5 %, 12 % and the failed one
        self.assertFalse(told.keeps_promises())
        text = "\n".join(gains.report(rows))
        self.assertIn("all pairs: 1 of 3 inside (33 %)", text)
        self.assertIn("failed: refused: the run before is too short", text)

    def test_half_of_the_pairs_failed(self):
        self.assertEqual(gains.summary([row("kept"), row("refused")]).error, math.inf)


class RecordingsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.bench = gains.Bench(Path("bin/stoker"), Path("python3"), self.folder, 14)

    def test_a_pair_that_was_not_recorded_has_failed(self):
        row = gains.evaluate(self.bench, gains.CASES[0])
        self.assertIn("FileNotFoundError", row.problem)
        self.assertFalse(row.inside)

    def test_a_run_that_failed_stays_failed(self):
        note = {"problem": "RuntimeError: exit code 1", "others": [0.1], "recorded": "", "commands": []}
        (self.folder / f"{gains.CASES[0].name}.json").write_text(json.dumps(note))
        row = gains.evaluate(self.bench, gains.CASES[0])
        self.assertEqual(row.remarks(), ["failed: RuntimeError: exit code 1"])
        self.assertEqual(gains.summary([row]).inside, 0)

    def test_a_program_that_fails_is_noted(self):
        bench = gains.Bench(Path(sys.executable), Path("python3"), self.folder, 14)  # python takes no "observe"
        gains.record(bench, gains.CASES[0])
        self.assertIn("exit code", gains.evaluate(bench, gains.CASES[0]).problem)

    def test_costs_are_read_from_the_judged_window(self):
        lines = [
            {"kind": "header", "monotonic_ns": 1_000_000_000},
            {"kind": "facts", "facts": {"machine": {"allowed": 2}}},
            *({"kind": "sample", "t": t, "signal": "tree.cpu", "subject": "tree", "value": v} for t, v in ((1, 9.0), (2, 10.0), (4, 13.0))),
            *({"kind": "sample", "t": t, "signal": s, "subject": p, "value": v}
              for t, s, p, v in ((2, "fetch.wall", "process/1", 0.3), (4, "fetch.wall", "process/1", 0.6), (4, "fetch.wall", "process/2", 0.2))),
            *({"kind": "sample", "t": 4, "signal": "fetch.count", "subject": p, "value": v} for p, v in (("process/1", 6), ("process/2", 2))),
        ]
        path = self.folder / "run.jsonl.gz"
        with gzip.open(path, "wt") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        diagnosis = {
            "window": {"start_monotonic_ns": 3_000_000_000, "end_monotonic_ns": 5_000_000_000},
            "step": {"mean_s": 0.1, "host_wait_s": 0.06},
            "shares": {"kernel": 0.3, "copy": None},
            "settings": {"num_workers": 1},
        }
        costs = gains.costs_of(gains.read(path), diagnosis)
        self.assertAlmostEqual(costs.fetch, 0.1)  # 0.8 s for 8 batches
        self.assertAlmostEqual(costs.core, 0.15)  # 3 s of core time in 2 s
        self.assertAlmostEqual(costs.host, 0.04)
        self.assertAlmostEqual(costs.device, 0.03)


class PlainLawTest(unittest.TestCase):
    costs = gains.Costs(workers=0, fetch=0.06, core=0.08, cores=2, host=0.04, device=0.03)

    def test_without_workers_fetching_and_the_loop_take_turns(self):
        self.assertAlmostEqual(self.costs.step(0), 0.10)

    def test_with_workers_the_longest_stage_binds(self):
        self.assertAlmostEqual(self.costs.step(1), 0.06)
        self.assertAlmostEqual(self.costs.step(4), 0.04)
        self.assertAlmostEqual(self.costs.speedup(1), 0.10 / 0.06)

    def test_a_change_that_it_does_not_know_is_worth_nothing(self):
        workers = gains.workers_after(self.costs, [{"setting": "prefetch_factor", "to": 4}])
        self.assertEqual(self.costs.speedup(workers), 1)

    def test_another_loader_is_as_many_workers_as_cores(self):
        self.assertEqual(gains.workers_after(self.costs, [{"setting": "loader", "to": "stoker"}]), 2)


class CasesTest(unittest.TestCase):
    def test_names_are_unique_and_four_are_quick(self):
        self.assertEqual(len({case.name for case in gains.CASES}), len(gains.CASES))
        self.assertEqual(sum(case.quick for case in gains.CASES), 4)

    def test_only_pairs_that_change_something_differ(self):
        for case in gains.CASES:
            self.assertEqual(case.same, not case.after and not case.fed, case.name)

    def test_neighbours_are_gone_afterwards(self):
        crew = []
        popen = gains.subprocess.Popen

        def started(*arguments, **named):
            crew.append(popen(*arguments, **named))
            return crew[-1]

        gains.subprocess.Popen = started
        self.addCleanup(setattr, gains.subprocess, "Popen", popen)
        with self.assertRaises(RuntimeError), gains.neighbours(2):
            raise RuntimeError("a run failed")
        self.assertEqual(len(crew), 2)
        self.assertTrue(all(one.poll() is not None for one in crew))


if __name__ == "__main__":
    unittest.main()
